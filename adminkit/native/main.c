/* Placeholder until the parser lands: only --hold. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
    const char *path = NULL;
    for (int i = 1; i < argc - 1; i++)
        if (strcmp(argv[i], "--db") == 0)
            path = argv[i + 1];
    sqlite3 *db = NULL;
    int on = 1;
    if (!path || sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        return 1;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
    sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
    puts("held");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}
