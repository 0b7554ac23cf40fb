#!/bin/sh
# Seeds for the fuzzer, written by hand: three bytes for spec, format and pieces, then text. Into the folder $1.
set -eu
mkdir -p "$1"
cd "$1"
printf '\000\000\205%s' '7|7|2024-03-05T07:00:00|CANCELLED by 1000|2-00:00:00|billing=1,cpu=2,gres/gpu:a100=2,gres/gpu=2,mem=4G,node=1|sbatch a|b
7.batch|7.batch|1700000000|COMPLETED||cpu=2,mem=3000M|x
8_[1-3%2]|8|None|PENDING|UNLIMITED||two
lines
9+1|9|Unknown|FOO|Partition_Limit|gres/gpu:v100=1,gres/gpu:a100_3g.20gb=2|' >job
printf '\001\001\007%s' '7_4.extern|a|48|0.25|-1|01:30.250|1-00:00:00.5|0:15|1.50T|3000Mc|gpu:P100:2(IDX:1,3),hbm:0|cpu=15:33:58,fs/disk=9,mem=4K|None assigned|
7|(null)|4294967294|1e6|12.50|INVALID|90|1|344K|2147486648Mn|gres:gpu:2|mem=0|n[1-4]|' >kinds
printf '\002\002\003%s' 'a☃12☃b☃
c
☄☃5☃' >snowman
printf '\004\003\001%s' '; comment
aaa5aaxaaa7aa
aa' >overlap
printf '\004\004\010%s' '# comment
a,b,1,surplus
a,b' >surplus
printf '\002\005\020%s' '; Version: 2.2
  1	-1 2.5 9

 1 2' >swf
printf '\006\000\220%s' '2024-10-27T02:30:00|2024-03-31 02:30:00|x
0|253402300800|y
2023-02-29T00:00:00||' >times
printf '\003\000\002%s' '18446744073709551614
-2
99999999999999999999999
007' >ints
printf '\005\001\004%s' 'cpu=1,|gpu:|cpu=x|
gres/gpu:=1|gpu(|energy=18446744073709551615|' >lists
printf '\004\000\011name\377\342\230|two\r\n\r\nlines|3\r\n\000|\355\240\200|4' >bytes
printf '\011\001\004%s' '1|ak1:lim=7200,src=e,cls=multi-node,own=node,rules=a+b ck1:at=9,heard=3,rq=1,end=more mine|
2|ak1:lim=none,src=d ck1:at=99999999999999999999,heard=0,rq=0|
3|ak1:lim=inf,src=e,rules= ck1:at=,heard=|' >comment
