/* test_sacct.c - the parser's cases: what goes in, what comes out, why. */
#include "feed.h"

/* One hour east of UTC, two from 1711846800 (2024-03-31T01:00Z) to 1729990800 (2024-10-27T01:00Z). */
static bool berlin(void *context, int64_t epoch, int64_t *seconds) {
    (void)context;
    *seconds = epoch >= 1711846800 && epoch < 1729990800 ? 7200 : 3600;
    return true;
}
static const struct ak_zone zone = {berlin, NULL};

struct value {
    const char *kind, *in, *out, *why;
};

static const struct value values[] = {
    {"text", "gpu-a100", "'gpu-a100'", "a name"},
    {"text", "", "-", "an empty name is unknown"},
    {"text", "(null)", "-", "printf's way to say so"},
    {"text", "None", "'None'", "somebody may be called None"},
    {"text", "a\xC3\xA0z", "'a\xC3\xA0z'", "UTF-8 stays"},
    {"text", "a\xFF\xE2\x98z", "'a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz'", "every bad byte is one U+FFFD"},
    {"text", "\xED\xA0\x80", "'\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD'", "half a surrogate pair is no UTF-8"},
    {"text", "\xF0\x9F\x90\x8D\xF4\x90\x80\x80",
     "'\xF0\x9F\x90\x8D\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD'", "nothing above U+10FFFF"},
    {"free", "(null)", "'(null)'", "free text is taken at its word"},
    {"admin_comment", "ak1:lim=60,src=e,rules=a mine",
     "'ak1:lim=60,src=e,rules=a mine' 60 'explicit' - - - - - - -", "a record"},
    {"admin_comment", "ak1:lim=none,src=d", "'ak1:lim=none,src=d' - 'default' - - - - - - -",
     "nothing was typed"},
    {"admin_comment", "ak1:lim=60,src=e,rules=a,b", "'ak1:lim=60,src=e,rules=a,b' - - - - - - - - -",
     "none of ours"},
    {"admin_comment", "a ck1:at=9,heard=2,rq=1,end=more b",
     "'a ck1:at=9,heard=2,rq=1,end=more b' - - 9 2 1 'more' - - -", "a note in the middle"},
    {"admin_comment", "ck1:at=9,heard=0,rq=0", "'ck1:at=9,heard=0,rq=0' - - 9 0 0 - - - -",
     "of a run that goes on"},
    {"admin_comment", "ck1:at=9,heard=0,rq=0,", "'ck1:at=9,heard=0,rq=0,' - - - - - - - - -",
     "a word that is more than a note"},
    {"admin_comment", "a xt1:asked=60,lim=120,n=1", "'a xt1:asked=60,lim=120,n=1' - - - - - - 60 120 1",
     "more time"},
    {"int", "48", "48", "a count"},
    {"int", "007", "7", "leading zeros"},
    {"int", "12345678", "12345678", "eight digits"},
    {"int", "9223372036854775807", "9223372036854775807", "the largest"},
    {"int", "9223372036854775808", "-", "one more is below 0, without its sign"},
    {"int", "184467440737095516160", "!too large", "beyond 64 bits"},
    {"int", "4294967294", "-", "NO_VAL"},
    {"serial", "48", "48", "a DBIndex that counts rows"},
    {"serial", "9223372036854775808", "-9223372036854775808", "the first that SQLite has no number for"},
    {"serial", "11675168616220727296", "-6771575457488824320", "a DBIndex of 24.11"},
    {"serial", "18446744073709551614", "-", "NO_VAL64"},
    {"serial", "184467440737095516160", "!too large", "beyond 64 bits"},
    {"serial", "-1", "!malformed", "no sign"},
    {"int", "4294967295", "-", "INFINITE"},
    {"int", "18446744073709551614", "-", "NO_VAL64"},
    {"int", "18446744073709551615", "-", "INFINITE64"},
    {"int", "65534", "65534", "the uid of nobody"},
    {"int", "-1", "-", "an unset uid"},
    {"int", "-2", "-", "NO_VAL as a signed number"},
    {"int", "-3", "-3", "a negative number"},
    {"int", "Unknown", "-", "a word for it"},
    {"int", "?", "-", "another"},
    {"int", "12x", "!malformed", "not a number"},
    {"int", " 12", "!malformed", "a blank is no digit"},
    {"int!", "", "!required, but unknown", "wanted"},
    {"real", "0.25", "0.25r", "a fraction"},
    {"real", "1e6", "1000000r", "an exponent"},
    {"real", "1e999", "!too large", "infinite"},
    {"real", "nan", "!malformed", "no number"},
    {"swf", "-1", "-", "SWF's unknown"},
    {"swf", "-1.00", "-", "the same"},
    {"swf", "12", "12", "whole"},
    {"swf", "12.50", "12.5r", "not whole"},
    {"time", "1700000000", "1700000000", "an epoch"},
    {"time", "0", "-", "never"},
    {"time", "253402300800", "!too large", "after the year 9999"},
    {"time", "Unknown", "-", "a job that runs has no end"},
    {"time", "None", "-", "nor a cancelled one a start"},
    {"time", "2024-01-15T12:00:00", "1705316400", "winter"},
    {"time", "2024-07-15 12:00:00", "1721037600", "summer, with a blank"},
    {"time", "2024-10-27T02:30:00", "1729989000", "an hour that occurs twice: the first"},
    {"time", "2024-10-27T03:00:00", "1729994400", "after it"},
    {"time", "2024-03-31T02:30:00", "!no such local time in --timezone", "an hour that never was"},
    {"time", "2024-02-29T00:00:00", "1709161200", "a leap day"},
    {"time", "2023-02-29T00:00:00", "!malformed", "none"},
    {"time", "2024-01-15T12:00", "!malformed", "seconds are missing"},
    {"time", "1969-07-20T20:17:40", "!malformed", "before Slurm"},
    {"time", "2024-03-05T07:00:00Z", "1709622000", "UTC, whatever the zone"},
    {"time", "2024-03-05T07:00:00+0100", "1709618400", "an hour east"},
    {"time", "2024-03-05 07:00:00+01:00", "1709618400", "the same with a colon"},
    {"time", "2024-03-05T07:00:00+01", "1709618400", "and without minutes"},
    {"time", "2024-03-05T07:00:00 -0330", "1709634600", "west, after a blank"},
    {"time", "2024-10-27T02:30:00+0100", "1729992600", "the second of two, which it says itself"},
    {"time", "2024-03-31T02:30:00Z", "1711852200", "an hour that is somewhere"},
    {"time", "1970-01-01T00:30:00+01:00", "-", "before 1970"},
    {"time", "2024-03-05T07:00:00+1", "!malformed", "no offset"},
    {"time", "2024-03-05T07:00:00+2400", "!malformed", "more than a day"},
    {"time", "2024-03-05T07:00:00+01:0", "!malformed", "cut short"},
    {"time", "2024-03-05T07:00:00CET", "!malformed", "a zone's name has more than one meaning"},
    {"time", "05 Mar 07:00", "!malformed", "no year"},
    {"epoch", "1700000000", "1700000000", "an epoch"},
    {"epoch", "0", "-", "never"},
    {"epoch", "", "-", "unknown"},
    {"epoch", "253402300800", "!too large", "after the year 9999"},
    {"epoch", "2024-01-15T12:00:00", "!malformed", "a calendar is for other programs"},
    {"epoch", "1700000000x0", "!malformed", "a seal is for times"},
    {"seconds", "90", "90", "plain"},
    {"seconds", "00:01:30", "90", "H:M:S"},
    {"seconds", "1-00:00:00", "86400", "with days"},
    {"seconds", "01:30.250", "90", "M:S and a fraction, cut off"},
    {"seconds", "1-00:00", "!malformed", "sacct never prints that"},
    {"seconds", "1-24:00:00", "!malformed", "a day has 24 hours"},
    {"seconds", "00:60:00", "!malformed", "an hour 60 minutes"},
    {"seconds", "INVALID", "-", "how Slurm prints negative ones"},
    {"cputime", "01:30.250", "90.25r", "fractions kept"},
    {"cputime", "9-12:59:28", "824368r", "days of them"},
    {"limit", "2880", "172800 'finite'", "minutes"},
    {"limit", "2147483647", "128849018820 'finite'", "INT_MAX minutes"},
    {"limit", "08:00:00", "28800 'finite'", "a clock"},
    {"limit", "125-00:00:00", "10800000 'finite'", "months"},
    {"limit", "15:30", "930 'finite'", "M:S, as sbatch reads it"},
    {"limit", "2-12", "216000 'finite'", "D-H"},
    {"limit", "2-12:30", "217800 'finite'", "D-H:M"},
    {"limit", "UNLIMITED", "- 'unlimited'", "none"},
    {"limit", "4294967295", "- 'unlimited'", "none, as a number"},
    {"limit", "Partition_Limit", "- 'partition'", "the queue's"},
    {"limit", "4294967294", "- 'partition'", "the queue's, as a number"},
    {"limit", "", "- 'unknown'", "steps have none"},
    {"limit", "00:00:00", "- 'unknown'", "nobody asks for nothing"},
    {"limit", "1000000000001", "!too large", "two million years"},
    {"limit", "1 day", "!malformed", "words"},
    {"jobid", "123", "'123' - - - - - -", "a job"},
    {"jobid", "123_4", "'123_4' 123 4 - - - -", "a task"},
    {"jobid", "123_[5-9%2]", "'123_[5-9%2]' 123 - - - - 5", "tasks that wait"},
    {"jobid", "123_[7]", "'123_[7]' 123 - - - - 1", "one of them"},
    {"jobid", "123_[0-9:3%1]", "'123_[0-9:3%1]' 123 - - - - 4", "every third"},
    {"jobid", "123_[60-89,91-94,96-98]", "'123_[60-89,91-94,96-98]' 123 - - - - 37", "with gaps"},
    {"jobid", "123_[1,3,5-8:2,11%7]", "'123_[1,3,5-8:2,11%7]' 123 - - - - 5", "all at once"},
    {"jobid", "123_[0-4294967293]", "'123_[0-4294967293]' 123 - - - - 4294967294", "more than Slurm takes"},
    {"jobid", "123_[9-5]", "'123_[9-5]' 123 - - - - -", "backwards"},
    {"jobid", "123_[5-9:0]", "'123_[5-9:0]' 123 - - - - -", "without a step"},
    {"jobid", "123_[5-]", "'123_[5-]' 123 - - - - -", "half a range"},
    {"jobid", "123_[5,,7]", "'123_[5,,7]' 123 - - - - -", "nothing between two commas"},
    {"jobid", "123_[%2]", "'123_[%2]' 123 - - - - -", "no task"},
    {"jobid", "123_[9-11,13,16-20]", "'123_[9-11,13,16-20]' 123 - - - - 9", "more of them"},
    {"jobid", "123_[9201-10000%50", "'123_[9201-10000%50' 123 - - - - 800", "cut off behind the tasks"},
    {"jobid", "123_[1,3,5,7,11,20-29,40,43,46,4", "'123_[1,3,5,7,11,20-29,40,43,46,4' 123 - - - - -",
     "cut off by older releases"},
    {"jobid", "123_[1-3,...]", "'123_[1-3,...]' 123 - - - - -", "cut off by newer ones"},
    {"jobid", "123+1", "'123+1' - - 123 1 - -", "part of a het job"},
    {"jobid", "x", "!malformed", "a word"},
    {"jobid", "123_", "!malformed", "half a task"},
    {"jobid", "123_4x", "!malformed", "a task and something"},
    {"rawid", "123", "123", "a number"},
    {"rawid", "123.batch", "123", "of a step"},
    {"rawid", "123_4", "!malformed", "that is a JobID"},
    {"state", "COMPLETED", "'COMPLETED' -", "one word"},
    {"state", "CANCELLED by 1185300516", "'CANCELLED' 1185300516", "by whom"},
    {"state", "FOO", "'FOO' -", "a state of some later release"},
    {"state", "CANCELLED+", "!malformed", "cut off by a table without -P"},
    {"state", "2024-01-15T12:00:00", "!malformed", "columns out of step"},
    {"exit", "0:15", "0 15", "code and signal"},
    {"exit", "1", "1 -", "code only"},
    {"exit", "", "- -", "unknown"},
    {"exit", "1:x", "!malformed", "no signal"},
    {"mem", "1024K", "1048576", "KiB"},
    {"mem", "1.50T", "1649267441664", "a fraction"},
    {"mem", "0.01M", "10485", "rounded down"},
    {"mem", "1106640K", "1133199360", "MaxRSS"},
    {"mem", "8E", "-", "2^63: nobody has so much"},
    {"mem", "16?", "-", "2^64, for which older releases have no letter"},
    {"mem", "16.00?", "-", "the same"},
    {"mem", "?K", "!malformed", "no number"},
    {"mem", "184467440737095516160", "-", "beyond 64 bits"},
    {"mem", "18446744073709551615M", "-", "NO_VAL64, as MiB"},
    {"mem", "17592186044416M", "-", "2^64 bytes"},
    {"mem", "1,024K", "1048576", "groups of three"},
    {"mem", "12,345,678K", "12641974272", "more of them"},
    {"mem", "1,02K", "!malformed", "half a group"},
    {"mem", "1234,567K", "!malformed", "groups of three only"},
    {"mem", "1,024,", "!malformed", "a comma and nothing"},
    {"mem", "99,999,999,999,999,999,999,999K", "-", "beyond 64 bits"},
    {"mem", "12B", "!malformed", "no such unit"},
    {"reqmem", "3000Mc", "3145728000 'c'", "per CPU"},
    {"reqmem", "48000Mn", "50331648000 'n'", "per node"},
    {"reqmem", "199G", "213674622976 -", "since 21.08"},
    {"reqmem", "0n", "0 'n'", "everything there is"},
    {"reqmem", "2147486648Mn", "- -", "unset, times something"},
    {"reqmem", "16?n", "- -", "2^64"},
    {"reqmem", "18446744073709551614Mc", "- -", "NO_VAL64, as MiB"},
    {"reqmem", "1,024Kc", "1048576 'c'", "groups of three"},
    {"tres", "", "- - - - - - - -", "unknown"},
    {"tres", "cpu=12,mem=48000M,node=1", "12 50331648000 1 0 - - - -", "no GPU: 0, not unknown"},
    {"tres", "billing=24,cpu=8,gres/gpu:v100=1,gres/gpu=1,mem=10G,node=1", "8 10737418240 1 1 'v100' - 24 -",
     "typed and untyped are the same GPU"},
    {"tres", "gres/gpu:v100=1,gres/gpu:a100_3g.20gb=2",
     "- - - 1 'a100_3g.20gb+v100' - - 'slice:a100_3g.20gb=2'", "typed only: their sum, less slices"},
    {"tres", "cpu=12,mem=168000,node=1", "12 176160768000 1 0 - - - -", "MiB without a unit"},
    {"tres", "1=12,2=168000,3=7,4=1,5=24,gres/gpu:a100=1", "12 176160768000 1 1 'a100' 7 24 -",
     "slurmdbd's ids of what every cluster has"},
    {"tres", "1=12,2=18446744073709551614,4=18446744073709551615", "12 - - 0 - - - -", "unset ids"},
    {"tres", "cpu=1,mem=2147486648M", "1 - - 0 - - - -", "unset, times something"},
    {"tres", "cpu=1,mem=1,024K,node=1", "1 1048576 1 0 - - - -", "groups of three"},
    {"tres", "mem=12,345,678K", "- 12641974272 - 0 - - - -", "more of them"},
    {"tres", "mem=16?,cpu=1", "1 - - 0 - - - -", "2^64"},
    {"tres", "cpu=1,energy=18446744073709000000", "1 - - 0 - - - -", "a counter that started again"},
    {"tres", "energy=18446744073709551614", "- - - 0 - - - -", "unset"},
    {"tres", "gres/gpumem=3G,gres/gpuutil=4,vmem=3", "- - - 0 - - - -", "none of them is a GPU"},
    {"tres", "cpu=1,", "!malformed", "an item is missing"},
    {"tres", "cpu=1x", "!malformed", "no count"},
    {"tres", "gres/shard=4,gres/shard:b=1,gres/shard:a=2,gres/mps=50",
     "- - - 0 - - - 'mps=50,shard=1,shard:a=2,shard:b=1'", "parts"},
    {"tres", "cpu=1,gres/gpu:a=", "1 - - - - - - '?'", "a word that cannot be read"},
    {"tres", "1=8,7001=2,7002=2", "8 - - 2 'a100' - - -", "a site's own numbers"},
    {"tres", "7003=4", "- - - 0 - - - -", "one that is no GRES"},
    {"tres", "7002=x", "- - - - - - - '?'", "no count"},
    {"tres", "7006=1", "- - - - - - - '?'", "a number without a name may be GPUs"},
    {"gres", "gpu:2", "2 - - 'node'", "old"},
    {"gres", "gpu", "1 - - 'node'", "one"},
    {"gres", "gpu:a100", "1 'a100' - 'node'", "one of a type"},
    {"gres", "bandwidth:4G,gpu:P100:2(IDX:1,3),hbm:0", "2 'P100' - 'node'", "among others"},
    {"gres", "gpu:0(IDX:N/A)", "0 - - 'node'", "none"},
    {"gres", "hbm:0", "0 - - 'node'", "no GPU"},
    {"gres", "gres:gpu:2", "2 - - 'node'", "with a prefix"},
    {"gres", "gpu:2(S:0", "!malformed", "an open bracket"},
    {"usage",
     "cpu=15:33:58,energy=0,fs/disk=934556828,gres/gpumem=20500736K,gres/gpuutil=90,mem=1294440K,pages=3310",
     "56038r 1325506560 934556828 0 90 20992753664", "TRESUsageInTot"},
    {"usage", "cpu=1,energy=18446744073709000000", "1r - - - - -", "a counter that started again"},
    {"usage", "1=12345,2=3383296,3=5,6=11087,7=1", "12r 3383296 11087 5 - -",
     "ids; CPU time is in thousandths"},
    {"usage", "7004=90,7005=3", "- - - - 90 3", "a site's own numbers"},
    {"usage", "mem=0", "- 0 - - - -", "bytes without a unit"},
    {"usage", "cpu=node7", "!malformed", "TRESUsageInMaxNode is something else"},
    {"nodelist", "n[1-4]", "'n[1-4]'", "names"},
    {"nodelist", "None assigned", "-", "never started"},
};

struct records {
    const char *spec;
    struct ak_format format;
    const char *in, *out, *why;
};

static const struct records records[] = {
    {"int,text", {.delimiter = "|"}, "1|a\n2|b\n", "1 job 1 'a'\n2 job 2 'b'\n", "sacct -P"},
    {"int,text",
     {.delimiter = "|"},
     "1|a\r\n\r\n2|b",
     "1 job 1 'a'\n3 job 2 'b'\n",
     "other lines' ends, none at the end"},
    {"int,text", {.delimiter = "|", .ends = true}, "1|a|\n2|b|\n", "1 job 1 'a'\n2 job 2 'b'\n", "sacct -p"},
    {"int,text,int", {.delimiter = "|"}, "1|a\nb|2\n", "1 job 1 'a\nb' 2\n", "a newline in a field"},
    {"int,text",
     {.delimiter = "|", .ends = true},
     "1|a\n\nb|\n",
     "1 job 1 'a\n\nb'\n",
     "an empty line in a field"},
    {"int,free,int",
     {.delimiter = "|"},
     "1|a||b|2\n",
     "1r job 1 'a||b' 2\n",
     "delimiters in the free column"},
    {"int,free",
     {.delimiter = "|"},
     "1|a|b\nc\n\nd\n\n2|e\n",
     "1r job 1 'a|b\nc\n\nd'\n6 job 2 'e'\n",
     "a free last column goes on in lines without a delimiter"},
    {"int,text,int",
     {.delimiter = "|"},
     "1|a|b|2\n3|c|4\n",
     "1 ! columns: 4, expected: 3\n2 job 3 'c' 4\n",
     "no free column, no repair"},
    {"free,free",
     {.delimiter = "|"},
     "a|b|c\nd|e\n",
     "1 ! columns: 3, expected: 2\n2 job 'd' 'e'\n",
     "nor with two, of which nobody knows which"},
    {"int,text,int",
     {.delimiter = "|"},
     "1|a\n3|c|4\n",
     "1 ! columns: 2, expected: 3\n2 job 3 'c' 4\n",
     "a broken line takes no good one with it"},
    {"int,text,text,int",
     {.delimiter = "|"},
     "1|a|b\n3|c|\nd|4\n",
     "1 ! columns: 3, expected: 4\n2 job 3 'c' '\nd' 4\n",
     "nor one of two lines"},
    {"int,text,int",
     {.delimiter = "|"},
     "sacct: error: lost\n1|a\nb|2\n",
     "1 ! columns: 1, expected: 3\n2 job 1 'a\nb' 2\n",
     "a line without a delimiter begins nothing"},
    {"free,text,int",
     {.delimiter = "|"},
     "a\nb|c\nd|2\n",
     "1 job 'a\nb' 'c\nd' 2\n",
     "unless the first column is free"},
    {"int,text",
     {.delimiter = "|", .ends = true},
     "1|a|b\n2|c|\n",
     "1 ! no delimiter after the last column\n2 job 2 'c'\n",
     "-p: the record ends with its delimiter"},
    {"int,text", {.delimiter = "|"}, "1|a\n2", "1 job 1 'a'\n2 ! columns: 1, expected: 2\n", "cut off"},
    {"int,text",
     {.delimiter = "\xE2\x98\x83"},
     "1\xE2\x98\x83\xE2\x98\x84\n",
     "1 job 1 '\xE2\x98\x84'\n",
     "a delimiter of three bytes, and a text that begins like it"},
    {"int,free",
     {.delimiter = ";|;"},
     "1;|;a;;|;|;b\n",
     "1r job 1 'a;;|;|;b'\n",
     "delimiters are read from the left"},
    {"swf,swf,swf",
     {.space = true, .comment = ";", .surplus_ignore = true},
     "; Version: 2.2\n  1\t-1  2.5 extra\n\n 1 2\n 4 5 6\n",
     "2 job 1 - 2.5r\n4 ! columns: 2, expected: 3\n5 job 4 5 6\n",
     "SWF"},
    {"int,text",
     {.delimiter = "|", .surplus_ignore = true},
     "1|a|b|c\n",
     "1 job 1 'a'\n",
     "surplus columns dropped"},
    {"jobid!,time!^,text",
     {.delimiter = "|"},
     "7|50|a\n7.batch|60|b\n7.0|x|c\n8.0|60|d\n7.1|70|e\n",
     "1 job '7' - - - - - - 50 'a'\n2 step '7' - - - - 'batch' - 50 'b'\n3 step '7' - - - - '0' - 50 'c'\n"
     "4 ! a step that does not follow its job's row\n5 ! a step that does not follow its job's row\n",
     "steps inherit from the job before them"},
    {"jobid!,time!^",
     {.delimiter = "|"},
     "7|50\nbroken|1|2\n7.batch|60\n",
     "1 job '7' - - - - - - 50\n2 ! columns: 3, expected: 2\n3 ! a step that does not follow its job's row\n",
     "what was broken may have been the step's job, run again"},
    {"jobid!,int",
     {.delimiter = "|"},
     "7.batch|1\n",
     "1 step '7' - - - - 'batch' - 1\n",
     "nothing to inherit, no job needed"},
    {"int,text",
     {.delimiter = "||||||||||||||||"},
     "1||||||||||||||||a\n",
     "1 job 1 'a'\n",
     "the longest delimiter"},
};

static int failures;

static void check(const char *what, const char *in, const char *got, const char *expected, const char *why) {
    if (strcmp(got, expected) == 0)
        return;
    failures++;
    fprintf(stderr, "%s: %s\n  in:       %s\n  expected: %s\n  got:      %s\n", what, why, in, expected, got);
}

/* The value alone, between delimiters that digits may not be read across. */
static void check_value(const struct value *value) {
    struct ak_spec spec;
    struct ak_format format = {.delimiter = "\x1F", .ends = true};
    char error[100], in[300], expected[400];
    if (!ak_spec_parse(&spec, value->kind, error, sizeof error)) {
        check(value->kind, value->in, error, "a spec", value->why);
        return;
    }
    snprintf(in, sizeof in, "%s\x1F", value->in);
    if (value->in[0] == '\0')
        snprintf(in, sizeof in, "\x1F");
    if (value->out[0] == '!')
        snprintf(expected, sizeof expected, "1 ! column 1 (%.*s): %s\n", (int)strcspn(value->kind, "!^"),
                 value->kind, value->out + 1);
    else
        snprintf(expected, sizeof expected, "1 job %s\n", value->out);
    struct feed_text text = feed(&spec, &format, &zone, in, strlen(in), strlen(in));
    check(value->kind, value->in, text.s, expected, value->why);
    free(text.s);
}

static void check_records(const struct records *one) {
    struct ak_spec spec;
    char error[100];
    if (!ak_spec_parse(&spec, one->spec, error, sizeof error)) {
        check(one->spec, one->in, error, "a spec", one->why);
        return;
    }
    for (size_t piece = 1; piece <= strlen(one->in); piece++) {
        struct feed_text text = feed(&spec, &one->format, NULL, one->in, strlen(one->in), piece);
        check(one->spec, one->in, text.s, one->out, one->why);
        free(text.s);
    }
}

/* NUL bytes cannot stand in the tables above. */
static void check_nul(void) {
    static const char in[] = "1|a\0b\n2|c\n";
    struct ak_spec spec;
    struct ak_format format = {.delimiter = "|"};
    char error[100];
    ak_spec_parse(&spec, "int,text", error, sizeof error);
    struct feed_text text = feed(&spec, &format, NULL, in, sizeof in - 1, 100);
    check("int,text", "a NUL", text.s, "1 ! NUL byte\n2 job 2 'c'\n", "a text with a NUL is refused");
    free(text.s);
}

static void check_refused_specs(void) {
    static const char *const specs[] = {"",       "int,",        "integer",  "skip!",
                                        "jobid^", "jobid,jobid", "int,,int", "int!^x"};
    static const struct ak_format formats[] = {{.delimiter = ""},
                                               {.delimiter = "\n"},
                                               {.delimiter = "|", .comment = "\r"},
                                               {.space = true, .ends = true}};
    struct ak_spec spec;
    struct ak_reader *reader = malloc(sizeof *reader);
    char error[100];
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        if (ak_spec_parse(&spec, specs[i], error, sizeof error))
            check("spec", specs[i], "accepted", "refused", "it is not a spec");
    ak_spec_parse(&spec, "int", error, sizeof error);
    for (size_t i = 0; reader && i < sizeof formats / sizeof *formats; i++)
        if (ak_reader_init(reader, &spec, &formats[i], error, sizeof error))
            check("format", formats[i].delimiter, "accepted", "refused", "no text could be read with it");
    free(reader);
}

static void check_numbers_of_tres(void) {
    static const char *const refused[] = {
        "1001",  "1001=gres/gpu", "1001:gres/gpu", ":gres/gpu=",          "x:",
        "2:,1:", "1:,1:",         "1:,,2:",        "1234567890123456789:"};
    static struct ak_tres_ids ids;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (ak_tres_ids_parse(&ids, refused[i]))
            check("numbers of TRES", refused[i], "accepted", "refused",
                  "it is not an ascending list of names");
}

int main(void) {
    static struct ak_tres_ids ids;
    if (!ak_tres_ids_parse(&ids,
                           "7001:gres/gpu=,7002:gres/gpu:a100=,7003:,7004:gres/gpuutil=,7005:gres/gpumem="))
        return 1;
    feed_ids = &ids;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        check_value(&values[i]);
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        check_records(&records[i]);
    check_nul();
    check_refused_specs();
    check_numbers_of_tres();
    printf("%zu values, %zu texts, %d failures\n", sizeof values / sizeof *values,
           sizeof records / sizeof *records, failures);
    return failures != 0;
}
