# SQLite, 3.37 or newer: the system's, or the amalgamation in the folder ADMINKIT_SQLITE_SOURCE, linked into the helper.
set(ADMINKIT_SQLITE_SOURCE "" CACHE PATH "A folder with SQLite's sqlite3.c, sqlite3.h and sqlite3ext.h")
set(OLDEST 3.37)

if(ADMINKIT_SQLITE_SOURCE STREQUAL "")
    find_package(SQLite3)
    if(NOT SQLite3_FOUND OR SQLite3_VERSION VERSION_LESS OLDEST)
        message(FATAL_ERROR "the helper needs SQLite ${OLDEST} or newer with its headers, and this system has"
            " '${SQLite3_VERSION}'; name a folder with SQLite's amalgamation, as docs/install.md says:"
            " pip install --config-settings=cmake.define.ADMINKIT_SQLITE_SOURCE=/FOLDER …")
    endif()
    set(ADMINKIT_SQLITE_INCLUDE ${SQLite3_INCLUDE_DIRS})
    add_library(adminkit-sqlite INTERFACE)
    target_link_libraries(adminkit-sqlite INTERFACE SQLite::SQLite3)
    return()
endif()

file(STRINGS "${ADMINKIT_SQLITE_SOURCE}/sqlite3.h" NUMBER REGEX "^#define SQLITE_VERSION +\"" LIMIT_COUNT 1)
string(REGEX REPLACE ".*\"(.*)\"" "\\1" NUMBER "${NUMBER}")
if(NUMBER VERSION_LESS OLDEST)
    message(FATAL_ERROR "${ADMINKIT_SQLITE_SOURCE} has SQLite '${NUMBER}', and the helper needs ${OLDEST} or newer")
endif()
message(STATUS "SQLite ${NUMBER} of ${ADMINKIT_SQLITE_SOURCE} is linked into the helper")
set(ADMINKIT_SQLITE_INCLUDE "${ADMINKIT_SQLITE_SOURCE}")
add_library(adminkit-sqlite STATIC "${ADMINKIT_SQLITE_SOURCE}/sqlite3.c")
target_include_directories(adminkit-sqlite SYSTEM PUBLIC "${ADMINKIT_SQLITE_SOURCE}")
# One thread reads, another stores; no code is loaded.
target_compile_definitions(adminkit-sqlite PRIVATE SQLITE_THREADSAFE=1 SQLITE_OMIT_LOAD_EXTENSION
    SQLITE_ENABLE_MATH_FUNCTIONS)
target_compile_options(adminkit-sqlite PRIVATE -w)
target_link_libraries(adminkit-sqlite PUBLIC m)
