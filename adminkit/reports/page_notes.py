"""What stands in a report's header and within its pictures, in the other languages of the page, as page_said.py has its
sentences: placeholders are those of that file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: A number of something: English singular -> Japanese.
COUNTED: Final[Mapping[str, str]] = {
    "job": "{} ジョブ", "het job": "het ジョブ {} 件", "successful job": "成功した {} ジョブ",
    "multi-GPU or multi-node job": "複数GPU・複数ノードの {} ジョブ", "run": "実行 {} 回", "user": "利用者 {} 人",
    "submission": "投入 {} 件", "name": "ジョブ名 {} 個", "row": "{} 行", "node": "{} ノード",
    "component": "要素 {} 個",
}  # fmt: skip
#: What rows are of.
PARTS: Final[Mapping[str, str]] = {"queue": "キュー", "user": "利用者", "account": "アカウント", "class": "クラス"}
#: What is counted on an axis.
SIZES: Final[Mapping[str, str]] = {"jobs": "ジョブ", "submissions": "投入", "GPUs": "GPU 数", "nodes": "ノード数"}
#: Rules that leave jobs out, and filters, as a header names them: English -> Japanese.
RULES: Final[Mapping[str, str]] = {
    **PARTS, "window": "期間外", "source": "信頼できない出所", "cluster": "クラスタ", "clusters": "クラスタ",
    "class unknown": "クラス不明", "state": "状態",
    "states": "状態", "elapsed": "実行時間", "elapsed unknown": "実行時間が不明", "short": "短い実行",
    "checkpoint": "チェックポイントの途中", "limit unlimited": "制限時間なし",
    "limit partition": "制限時間はキューのもの", "limit unknown": "制限時間が不明", "limit source": "制限時間の由来",
    "limit reached": "制限時間まで実行", "eligible unknown": "実行可能になった時刻が不明", "not started": "未開始",
    "not planned": "ソフトリミットなし", "open": "未終了", "no end": "終了時刻が不明", "requeued": "再投入",
    "days": "日数", "time zone": "時間帯", "first letter": "最初のメール",
}  # fmt: skip
#: What a line of a header says beside its notes.
FACTS: Final[Mapping[str, str]] = {
    "{n} counted": "{n} 件を数えました",
    "none": "なし",
    "{s} from {m} until before {m2}; {s2}": "{m} から {m2} の前までに{s}; {s2}",
    "{s} from {m} on; {s2}": "{m} 以降に{s}; {s2}",
    "{s} before {m}; {s2}": "{m} より前に{s}; {s2}",
    "all; {s}": "すべて; {s}",
    "the trace has ends from {m} to {m2}": "記録にある終了は {m} から {m2} まで",
    "the trace has no finished job": "終了したジョブの記録はありません",
    "ended": "終了したもの",
    "were submitted": "投入されたもの",
    "started": "開始したもの",
    "ran": "実行中だったもの",
    "> {n} s": "> {n} 秒",
    "> -1 s": "(すべて)",
    "at most {n} s": "{n} 秒以下",
    # Beside heat maps: of the size with the most jobs, the waits of two limits.
    "{s}: {d} for {s2}, {d2} for {s3}": "{s}: {s2}は {d}、{s3}は {d2}",
    "{s}: within {d} for {s2}, within {d2} for {s3}": "{s}: {s2}は {d} 以内、{s3}は {d2} 以内",
    "up to {d}": "{d} まで",
    "over {d}": "{d} 超",
    "over {d}, up to {d2}": "{d} 超 {d2} まで",
    "over {n}": "{n} 超",
    "{n} GPU": "{n} GPU",
    "{n} node": "{n} ノード",
    "{n} CPU": "{n} CPU",
    # Within lists.
    "{n} in a maintenance reservation": "メンテナンスの予約 {n}",
    "{n} drained": "ドレイン {n}",
    "{n} down": "停止 {n}",
    "{t} (goes on) {n}": "{t} (続行中) {n}",
    "{t} (was requeued as often as it asked for) {n}": "{t} (再投入は希望の回数まで) {n}",
    "{t} (ran less than twice the lead: no progress) {n}": "{t} (進捗なし: 実行が猶予の2倍に満たない) {n}",
    "{t} (Slurm refused to requeue it) {n}": "{t} (Slurm が再投入を拒否) {n}",
    "{n} before and after a user's first letter": "(利用者への最初のメールの前後 {n} 日)",
}
#: Bars of these panels have names of ours; those of others have users' words.
OUR_BARS: Final = frozenset({
    "All jobs by class", "Multi-GPU jobs by GPUs", "Multi-node jobs by nodes", "Jobs without GPUs by cores",
    "Multi-GPU and multi-node jobs by their steps", "Jobs by how they ended",
    "The study counts normal jobs and jobs out of time", "Jobs by runs", "How the last run ended",
    "Need as a share of the soft limit", "Free, and not to be used",
})  # fmt: skip
#: Words within pictures, and above the columns of their numbers.
PICTURED: Final[Mapping[str, str]] = {
    **SIZES, "ran": "実行時間", "asked": "要求", "needed": "必要", "soft limit": "ソフトリミット", "default": "既定",
    "maximum": "最大", "time (logarithmic)": "時間 (対数)", "share of jobs": "ジョブの割合", "share": "割合",
    "count": "個数", "hours": "時間", "ratio": "比", "number": "個数", "median": "中央値", "mean": "平均",
    "p10": "10 % 点", "p25": "25 % 点", "p75": "75 % 点", "p90": "90 % 点",
    "(line: median, diamond: mean)": "(線: 中央値、ひし形: 平均)", "{} jobs": "{} ジョブ",
    "such a share of the jobs has at most": "ジョブのこの割合が、この値以下です",
    "elapsed / limit": "実行時間 / 制限時間", "used / reserved, of each job": "ジョブごとの使用 / 予約",
    "time limit that was asked for": "要求された制限時間", "CPUs": "CPU 数", "unlimited": "無制限",
    "the queue's": "キューの値", "others": "その他",
    "parallel": "並列", "bundle": "束ねたもの", "one task a GPU": "GPU ごとに1タスク", "not known": "不明",
    "success": "成功", "cancelled by the user": "利用者が取消", "cancelled by others": "ほかの人が取消",
    "cancelled by ?": "取消 (誰かは不明)", "timeout": "時間切れ", "failed": "失敗", "node failure": "ノード障害",
    "out of memory": "メモリ不足", "preempted": "プリエンプション", "requeued": "再投入", "deadline": "期限切れ",
    "other": "その他", "normal": "正常", "out of time": "時間切れ", "too short": "短すぎる",
    "wrong parameters": "引数の誤り", "suspected system failure": "システム障害の疑い", "other ends": "その他",
    "completed": "完了", "open": "続行中", "refused": "再投入の拒否", "a quarter or less": "4分の1以下",
    "to a half": "半分まで", "to the whole": "同じ長さまで", "to twice": "2倍まで", "more": "それ以上",
    "gpus without cpus": "CPU のない GPU", "gpus without memory": "メモリのない GPU", "gaps": "すき間",
}  # fmt: skip
NOTES: Final[Mapping[str, str]] = {
    "from the trace's rollups: of a quantile the bin that holds it, and a dash for what they do not hold; --exact reads"
    " every job": (
        "トレースの rollups による値です: 分位点はそれを含む区間、rollups にない値はダッシュ。"
        "--exact は全ジョブを読みます"
    ),
    "no job is left to measure; the lines above say why": "測るジョブがありません",
    "not shown: {c} of {t}": "表示していないもの: {c} ({t})",
    "not shown: {c} with {c2} and {n} GPU-hours": "表示していないもの: {c} ({c2}、{n} GPU時間)",
    "{w}_hours leave out {c} of unknown {t2}": "{w}_hours は、{t2} の数が不明な {c} を含みません",
    "{w}_hours leave out {c} of an unknown number of {t2}": "{w}_hours は、{t2} の数が不明な {c} を含みません",
    "{w}_hours_unused leaves out {c} of unknown {t2}": "{w}_hours_unused は、{t2} の数が不明な {c} を含みません",
    "accuracy leaves out {c}: checkpoint runs, and jobs without a finite limit": (
        "accuracy は {c} を含みません: チェックポイントの途中の実行と、有限の制限時間がないジョブ"
    ),
    "the trace knows nothing from {m} on: the window ends there": "{m} 以降の記録はないため、期間はそこで終わります",
    # accuracy
    "elapsed / limit is above 1 for {c} that ran longer than asked; kept as it is": (
        "要求より長く実行された {c} の elapsed / limit は 1 を超えます。そのままにしてあります"
    ),
    "share_maximum is empty where the trace knows no maximum limit: {t}": (
        "最大の制限時間の記録がないところでは share_maximum は空です: {t}"
    ),
    "who chose the limit is unknown for {c}; of these, share_default counts those whose limit is their queue's"
    " default": (
        "{c} は、誰が制限時間を選んだか不明です。そのうちキューの既定値と同じものを share_default に数えます"
    ),
    "for comparison: the mean of queues was {n} in the study (AAIC 2017, single-GPU jobs); the mean of jobs about {n2}"
    " on Kraken (2012), {n3} on KTH-SP2 (1996), {n4} on RICC (2010)": (
        "比較: 研究 (AAIC 2017、単一GPU のジョブ) ではキューの平均が {n}。ジョブの平均は Kraken (2012) が約 {n2}、"
        "KTH-SP2 (1996) が {n3}、RICC (2010) が {n4}"
    ),
    # parallelism
    "{c} of {c2} are counted as whole jobs": "{c2} の {c} は、1つのジョブとして数えます",
    "{c} of unknown GPUs are in no class": "GPU 数が不明な {c} は、どのクラスにも入りません",
    "{c} of unknown nodes are classed as on one node": "ノード数が不明な {c} は、1ノードのジョブとして分類しています",
    "{c} of unknown nodes are classed as on one node: multi-node is at least what is shown": (
        "ノード数が不明な {c} は、1ノードのジョブとして分類しています。multi-node は少なくとも表の値です"
    ),
    "whether they only look parallel is not known of {c}": "見かけだけの並列かどうかは、{c} については不明です",
    "classed by cores, as no job of their cluster says its GPUs: {c}": (
        "クラスタのどのジョブにも GPU 数の記録がないため、コア数で分類したもの: {c}"
    ),
    "(none known): the command line names none, or the trace has no command line; a script may start one": (
        "(不明): コマンドラインにないか、コマンドラインの記録がありません。スクリプトの中で起動することもあります"
    ),
    # restarts
    "how the last run ended: {l}": "最後の実行の終わり方: {l}",
    "how much of unsaved_hours was redone is not known: Slurm does not see a job's own checkpoints": (
        "unsaved_hours のうちどれだけがやり直しかは不明です。ジョブ自身のチェックポイントは Slurm からは見えません"
    ),
    # feedback
    "{c} got letters, the first on {m}; of {n} the letter is too recent, {n2} have fewer than {n3} runs before or after"
    " it": (
        "メールを受け取った {c}、最初は {m}。{n} 人はメールが新しすぎ、{n2} 人は前か後の実行が {n3} 回に足りません"
    ),
    "letters go to users with poor limits, some of whom would have improved anyway; so each user's change is compared"
    " with that of up to {n} users without a letter whose limits were about as poor before (difference in"
    " differences)": (
        "メールは制限時間の精度が低い利用者に届き、その一部はメールがなくても良くなります。そこで、各利用者の変化を、"
        "以前の精度が同じくらいでメールのない利用者 (最大 {n} 人) の変化と比べます (差の差)"
    ),
    "these others are the hold-out, drawn at random: the difference is the effect of letters": (
        "比べる相手は無作為に選んだ対照群で、差はメールの効果です"
    ),
    "these others had no letter until then, but were not drawn at random: they may differ in more than the letter. Set"
    " feedback.holdout for a hold-out": (
        "比べる相手はその時点でメールがない利用者ですが、無作為に選んではいないため、メール以外の違いもありえます。"
        "対照群は feedback.holdout で設定します"
    ),
    "the interval is a bootstrap over users, {n} draws, seed {n2}; with fewer than {n3} users compared or {n4} others"
    " there is no verdict": (
        "区間は利用者についてのブートストラップ ({n} 回、seed {n2}) です。比べる利用者が {n3} 人、"
        "相手が {n4} 人に満たなければ判定しません"
    ),
    "unused_hours: GPU-hours per week and user, of runs with GPUs": (
        "unused_hours: 利用者1人、1週間あたりの GPU時間 (GPU のある実行のみ)"
    ),
    "unused_hours: CPU-hours per week and user; no run is known to have GPUs": (
        "unused_hours: 利用者1人、1週間あたりの CPU時間。GPU があると知られている実行はありません"
    ),
    # soft-limits
    "needs: the run times of {c} that came to their own end (COMPLETED, TIMEOUT)": (
        "必要な時間 (needs): 自ら終わった {c} (COMPLETED、TIMEOUT) の実行時間"
    ),
    "ahead and delayed are at most so many: Slurm keeps no plans; they are read from when and where jobs started": (
        "ahead と delayed は上限です。Slurm は計画を残さないため、ジョブが始まった時刻と場所から読み取ります"
    ),
    "delayed jobs started on the nodes of a job that had outlived its soft limit, within {d} of its end": (
        "delayed のジョブは、ソフトリミットを超えたジョブのノードで、その終了から {d} 以内に始まりました"
    ),
    "how {c} started is not known: backfilled and ahead leave them out": (
        "{c} の始まり方は不明なため、backfilled と ahead には含みません"
    ),
    "where {c} ran is not known: ahead and delayed leave them out": (
        "{c} の実行場所は不明なため、ahead と delayed には含みません"
    ),
    # states
    "the study's selection counts {c}: normal and out_of_time": "研究の選び方で数えるもの: {c} (normal と out_of_time)",
    "the trace does not say who cancelled {c}": "誰が取り消したか記録にないもの: {c}",
    "other: {t}": "other の内訳: {t}",
    "a step of {c} ended with another code than 0": "{c} のステップが 0 以外のコードで終わりました",
    # users
    "{n} of {c} {t} active: at least {n2} jobs a month on average, over {n3} months": (
        "{c} のうち {n} 人が活動中です: {n3} か月の平均で月に {n2} ジョブ以上"
    ),
    "now is {m} (UTC); before: the months before it with at least {n} jobs, each once": (
        "now は {m} (UTC)、before はそれより前の {n} ジョブ以上の各月です"
    ),
    "{c} with an interval, 95 % each: about one in twenty is outside it by chance": (
        "区間のある {c} (各 95 %): 20 人に約 1 人は偶然に外れます"
    ),
    "{c} with fewer than {n} such months before: no interval": "それまでの月が {n} か月に満たない {c}: 区間なし",
    # utilization
    "a run counts in each {t} in which it ran, so these jobs add up to more than all": (
        "実行はそれが動いていた各{t}に数えるため、ジョブ数の合計は全体を超えます"
    ),
    "{c} had not ended: counted up to now, or up to when sync last saw them": (
        "終了していない {c}: 現在か、最後に sync で確認した時刻まで数えます"
    ),
    "no node_utilization: jobs may share nodes, and node_hours count a node once for each of its jobs": (
        "node_utilization なし: ジョブがノードを共有することがあり、node_hours はノードをジョブごとに数えます"
    ),
    "the capacity is {n} CPUs all the time, as the trace's header states; no node is known": (
        "容量は記録のヘッダーにあるとおり常に {n} CPU です。ノードの記録はありません"
    ),
    "the trace does not know the nodes, so there is no capacity: `adminkit sync`, or import --site": (
        "ノードの記録がないため、容量はありません: `adminkit sync` か import --site"
    ),
    "the nodes are known from {m} on; a part that began before has no capacity": (
        "ノードの記録は {m} からです。それより前に始まる部分に容量はありません"
    ),
    "of the node-hours were {l}; reservations are known only where their nodes were down": (
        "ノード時間の内訳: {l}。予約は、そのノードが停止していた場合だけわかります"
    ),
    "{c} of the capacity are of other queues too, whose jobs are not counted": (
        "容量のうち {c} は別のキューのものでもあり、そのジョブは数えていません"
    ),
    "the capacity is that of all jobs, whoever's these are": "容量は、誰のものかによらず全ジョブのためのものです",
    # arrivals
    "{c} of {c2}: an array or a het job is one submission; {n} have more than one job": (
        "{c} ({c2}): 配列ジョブや het ジョブは1件の投入です。{n} 件が複数のジョブを含みます"
    ),
    "gaps, burstiness and dispersion are those of several clusters together, and queues of one name are one: --cluster"
    " has one alone": (
        "間隔、集中度、分散は複数のクラスタを合わせたもので、同じ名前のキューは1つと数えます。"
        "1つだけなら --cluster を付けます"
    ),
    # wait
    "kept apart: {c} that waited for something else than the queue, too; Slurm keeps the last such reason, not how long"
    " it held": (
        "別に数えたもの: キュー以外の理由でも待った {c}。Slurm は最後の理由だけを残し、その長さは残しません"
    ),
    "nobody says what {c} waited for: counted as the queue's": "待った理由が不明な {c} は、キューの待ちに数えます",
    "the wait of {c} that started before being eligible counts as 0": (
        "実行可能になる前に始まった {c} の待ち時間は 0 とします"
    ),
    "still waiting, and in no figure: {c}, the first for {d}": (
        "まだ待っていて、どの数にも入らないもの: {c}、最初のものは {d}"
    ),
    "still waiting, and in no figure: at least {c}, the first for {d}": (
        "まだ待っていて、どの数にも入らないもの: {c} 以上、最初のものは {d}"
    ),
    "the heat map leaves out {c} of unknown size or limit": "規模か制限時間が不明な {c} は、図に含みません",
    # efficiency
    "{t} leaves out {c} of which it is unknown": "{t}: 不明な {c} を含みません",
    "the GPUs of {c} are as Jobstats measured them, others as Slurm's plugin did": (
        "{c} の GPU は Jobstats の、ほかは Slurm のプラグインの測定値です"
    ),
    "idle GPUs were busy for less than {p} of the time": "空いている GPU とは、使われた時間が {p} 未満のものです",
    # energy
    "no job has any energy: Slurm measures it only where slurm.conf has AcctGatherEnergyType, AcctGatherNodeFreq and"
    " energy= in JobAcctGatherFrequency; docs/energy.md says how": (
        "電力量の記録のあるジョブがありません。slurm.conf に AcctGatherEnergyType、AcctGatherNodeFreq と、"
        "JobAcctGatherFrequency の energy= がある場合だけ、Slurm が測ります。設定は docs/energy.md にあります"
    ),
    "{c} used more than {t} a node ([energy] node_watts): they are in no sum": (
        "{c} は1ノードあたり {t} ([energy] node_watts) を超えたため、どの合計にも入りません"
    ),
    "of {c} no energy is known; nothing is made up for them": "{c} の電力量は不明です。推定はしていません",
    "nodes of {c} with {p} of the energy were not theirs alone: Slurm books what a node uses to every job on it, so"
    " sums count it more than once": (
        "{c} (電力量の {p}) のノードは共有でした。Slurm はノードの電力量をその上の各ジョブに付けるため、"
        "合計では重複します"
    ),
    "of {c} it is not known whether others were on their nodes": "{c} は、ノードが共有だったかどうか不明です",
    "cost at {n} a kWh, in the currency of the settings": "費用は 1 kWh あたり {n} (設定の通貨) です",
    # frameworks, names
    "of {c} no name is known": "ジョブ名が不明なもの: {c}",
    "of {c} no {t} is known: none, or none that the command line names": (
        "{t}が不明なもの: {c}。ないか、コマンドラインに現れません"
    ),
    # waste
    "limits leave out {c} of an unknown number of {t}": "limits は、{t} の数が不明な {c} を含みません",
    "the trace does not know which nodes runs had, so only limits are known": (
        "実行されたノードの記録がないため、limits だけがわかります"
    ),
    "{c} of no known node: what they held counts as free, so all but limits is too high": (
        "ノードが不明な {c}: その分は空きに数えるため、limits 以外は大きすぎます"
    ),
    "{n} node-hours are left out: a run held an unknown number there": (
        "{n} ノード時間を除きました: そこで使われていた量が不明です"
    ),
    "runs of several nodes are taken to hold as much on each": "複数ノードの実行は、各ノードで同じ量を使うとみなします",
    "gaps are a bound, not a simulation: single-node jobs, {n} gaps looked at for each; `adminkit simulate` tells what"
    " shorter limits would do": (
        "gaps は上限で、シミュレーションではありません (1ノードのジョブ、それぞれ {n} 個のすき間)。"
        "短い制限時間の効果は `adminkit simulate` でわかります"
    ),
}  # fmt: skip
