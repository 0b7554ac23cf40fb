/* A source of users that does not answer, as nsswitch.conf names it: passwd: files away */
#include <errno.h>
#include <nss.h>
#include <pwd.h>
#include <stddef.h>

enum nss_status _nss_away_getpwnam_r(const char *name, struct passwd *entry, char *room, size_t size,
                                     int *error) {
    (void)name, (void)entry, (void)room, (void)size;
    *error = ENOENT; /* as libnss-ldapd says it without nslcd */
    return NSS_STATUS_UNAVAIL;
}

enum nss_status _nss_away_getpwuid_r(uid_t uid, struct passwd *entry, char *room, size_t size, int *error) {
    (void)uid;
    return _nss_away_getpwnam_r("", entry, room, size, error);
}
