"""Slurm's reasons in Japanese: the same codes and the same parts of limits' names as reasons.py has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: Code -> sentence.
SENTENCES: Final[dict[str, str]] = {
    "None": "スケジューラーがまだ確認していません。1 分後にもう一度見てください",
    "Priority": "このキューに優先度の高いジョブがあります。--time を短くすると隙間で開始できることがあります",
    "Resources": "次に開始されます。ノード、CPU、メモリまたは GPU が空くのを待っています",
    "Dependency": "他のジョブを待っています (--dependency)",
    "DependencyNeverSatisfied": "依存先のジョブが条件と異なる形で終了しました。scancel で取り消してください",
    "BeginTime": "開始時刻 (--begin)、または再投入後の待ち時間が来ていません",
    "Prolog": "ノードで prolog を実行中です。まもなく開始します",
    "Cleaning": "前回の実行の後始末が終わっていません",
    "JobHeldUser": "所有者が保留しました。scontrol release で解除してください",
    "JobHeldAdmin": "管理者が保留しました。管理者に尋ねてください",
    "JobHoldMaxRequeue": "開始の失敗が多いため保留されました。出力を確認し、scontrol release で解除してください",
    "JobArrayTaskLimit": "配列ジョブの同時実行数が上限です (--array の %)",
    "Licenses": "他で使用中のライセンスを待っています (--licenses)",
    "Reservation": "予約が始まっていないか、予約に空きがありません (--reservation)",
    "ReservationDeleted": "予約が削除されました: scontrol update JobId=… ReservationName=",
    "ReservationInvalid": "予約がこのジョブには無効です。作成者に尋ねるか、--reservation を外してください",
    "ReqNodeNotAvail": "求めたノードが停止中、ドレイン中、または保守などで予約されています。--time を短くすると"
    "その前に終わることがあります",
    "PartitionDown": "このキューは今ジョブを開始しません",
    "PartitionInactive": "このキューは今ジョブを受け付けず、開始もしません",
    "PartitionNodeLimit": "キューが許すより多くのノード、または動いていないノードを求めています",
    "PartitionTimeLimit": "キューが許すより長い時間を求めています。制限時間を短くするか、別のキューを使ってください",
    "PartitionConfig": "キューが許さないもの (ノード、アカウント、QOS など) を求めています",
    "NodeDown": "求めたノードが停止しています",
    "FrontEndDown": "動いているフロントエンドがありません",
    "BadConstraints": "求めたもの (--constraint、--gres、--mem など) を満たすノードがありません。"
    "直すか、取り消してください",
    "Constraints": "求めた特徴を持つノードが今ありません (--constraint)",
    "MaxMemPerLimit": "CPU またはノードあたりのメモリが許される量を超えています",
    "AccountNotAllowed": "このアカウントではこのキューを使えません。別の -A か -p にしてください",
    "QOSNotAllowed": "この QOS はこのキューで使えません。別の -q か -p にしてください",
    "InvalidAccount": "アカウントが無効です。別の -A にするか、管理者に尋ねてください",
    "InvalidQOS": "QOS が無効です。別の -q にするか、管理者に尋ねてください",
    "AccountingPolicy": "アカウントまたは QOS の制限で待っています",
    "QOSUsageThreshold": "アカウントの使用量が QOS の許す量を超えています",
    "AssociationJobLimit": "アカウントのジョブ数が上限です",
    "AssociationResourceLimit": "アカウントの使用量が上限です",
    "AssociationTimeLimit": "アカウントの時間を使い切りました",
    "QOSJobLimit": "QOS のジョブ数が上限です",
    "QOSResourceLimit": "QOS の使用量が上限です",
    "QOSTimeLimit": "QOS の時間を使い切りました",
    "BurstBufferOperation": "バーストバッファーの操作に失敗しました",
    "BurstBufferResources": "バーストバッファーの空きを待っています",
    "BurstBufferStageIn": "データをバーストバッファーへ転送中です",
    "DeadLine": "--deadline までに終えることができません",
    "FedJobLock": "フェデレーションの別のクラスターが確認中です",
    "MaxPoweredUpNodes": "電源を入れてよいノード数の上限です",
    "MpiPortsBusy": "MPI のポートが空くのを待っています",
    "SchedDefer": "スケジューリングが延期されています。後でもう一度見てください",
    "SystemFailure": "Slurm が開始に失敗しました。管理者に尋ねてください",
    "JobLaunchFailure": "起動に失敗しました。出力を確認してください。パスかノードに問題があるかもしれません",
    "PowerNotAvail": "今このジョブのための電力がありません",
    "PowerReserved": "電力が他のために予約されています",
}
WORDS: Final = {
    "Nodes required for job are DOWN": "使えるノードがありません。停止中、ドレイン中、または優先度の高い"
    "ジョブのために空けてあります",
    "job requeued in held state": "再投入され、保留されています。scontrol release で解除してください",
    "launch failed requeued held": "開始に失敗し、保留されています。出力を確認し、scontrol release で解除してください",
    "user env retrieval failed": "環境変数を読めず (--export, --get-user-env)、保留されています",
}
WHAT: Final = {
    "Submit": "キュー内のジョブ数",
    "Job": "実行中のジョブ数",
    "License": "ライセンス",
    "Billing": "課金単位",
    "Energy": "エネルギー",
    "Mem": "メモリ",
    "GRES": "GPU などの GRES",
    "Node": "ノード数",
    "Cpu": "CPU 数",
    "CPU": "CPU 数",
    "Wall": "時間",
    "BB": "バーストバッファー",
    "Unknown": "ある資源",
}
PER: Final = {
    "PerJob": "1 ジョブ",
    "PerNode": "1 ノード",
    "PerUser": "1 ユーザー",
    "PerAccount": "1 アカウント",
}


def limit(parts: Mapping[str, str]) -> str:
    """The sentence for a limit's name, by the parts of reasons.py's pattern."""
    of, kind, per = "アカウント" if parts["whose"] == "Assoc" else "QOS", parts["kind"], parts["per"]
    what = WHAT[parts["what"]]
    later = parts["minutes"].startswith("Run")
    if later:
        what += " × 残り時間"
    elif parts["minutes"]:
        what += " × 分"
    if kind == "Min":
        return f"求める{what}が {of} の下限より少ないです。増やすか、別の QOS を使ってください"
    if per in ("PerJob", "PerNode"):
        return f"求める{what}が {of} の上限 ({PER[per]}あたり) を超えています。開始されません。減らしてください"
    if kind == "Grp" and (parts["minutes"] == "Minutes" or parts["what"] == "Wall"):
        return f"{of} の{what}を使い切りました。使用量が減衰するまで待つか、管理者に尋ねてください"
    shorter = "。--time を短くすると数えられる量が減ります" if later else ""
    whose = f"{PER[per]}あたり" if per else "全ユーザーのジョブの合計" if kind == "Grp" else "あなたのジョブの合計"
    return f"{of} の{what}の上限 ({whose}) に達しています。他のジョブの終了を待っています{shorter}"
