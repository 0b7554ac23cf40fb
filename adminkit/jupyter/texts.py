"""What the pages of the hub say, in English and Japanese."""

from __future__ import annotations

from typing import Final

#: Key -> English, Japanese. The values are escaped where they become HTML.
TEXTS: Final[dict[str, tuple[str, str]]] = {
    "refused_until": ("It cannot start now, but from {at}: {why}.", "今は開始できません。{at} から: {why}"),
    "refused": ("It cannot start now: {why}.", "今は開始できません: {why}"),
    "no_answer": (
        "Slurm does not answer, so nothing was started. Try again in a minute.",
        "Slurm が応答しないため、開始していません。1 分後にもう一度お試しください。",
    ),
    "no_word": (
        "Slurm did not say whether it took the job. If it did, the job is cancelled. Try again in a minute.",
        "Slurm から投入の成否の応答がありません。投入されていた場合は取り消します。1 分後にもう一度お試しください。",
    ),
    "withdrawn": (
        "It had not started after {seconds:.0f} s, so it was withdrawn. Slurm's reason: {why}.",
        "{seconds:.0f} 秒待っても開始しないため、取り下げました。Slurm の理由: {why}",
    ),
    "ended": (
        "The job ended before the server answered: {how}. The last lines of its log:",
        "サーバーが応答する前にジョブが終了しました: {how}。ログの最後の行:",
    ),
    "ended_silent": (
        "The job ended before the server answered: {how}. It left no log that could be read.",
        "サーバーが応答する前にジョブが終了しました: {how}。読めるログはありません。",
    ),
    "waiting": ("Job {job} waits: {why}", "ジョブ {job} は待っています: {why}"),
    "place": (
        "It is {number} of {of} that wait in {queue}.",
        "{queue} で待っている {of} 件中 {number} 番目です。",
    ),
    "fair_share": ("It has {why}.", "{why}。"),
    "expected": ("Slurm expects it to start at {at}.", "Slurm の予定では {at} に開始します。"),
    "running": (
        "Job {job} runs on {host}; the server is starting.",
        "ジョブ {job} は {host} で実行中です。サーバーを起動しています。",
    ),
    "unknown": ("Slurm does not answer; waiting.", "Slurm が応答しません。待っています。"),
    "nearest": ("Start {title} instead", "代わりに {title} を開始する"),
    "legend": ("What do you want to start?", "何を開始しますか"),
    "empty": ("Nothing can start now.", "今開始できるものはありません。"),
    "slurm_silent": (
        "Slurm does not answer, so it is not known what can start. This page goes on asking.",
        "Slurm が応答しないため、何を開始できるか分かりません。このページは問い合わせを続けます。",
    ),
    "last_ended": ("Your last server is gone: {how}.", "前回のサーバーは終了しました: {how}。"),
    "last_idle": (
        "Your last server was ended after no kernel or terminal had run anything for {idle}, so that others can use "
        "what it reserved.",
        "{idle} の間、カーネルも端末も何も実行しなかったため、前回のサーバーを終了し、予約した資源を解放しました。",
    ),
    "end_completed": ("it ended by itself", "自ら終了しました"),
    "end_timeout": ("it reached its time limit", "制限時間に達しました"),
    "end_memory": ("it used more memory than it had", "メモリが足りませんでした"),
    "end_cancelled": ("its job was cancelled", "ジョブが取り消されました"),
    "end_node": ("its node failed", "ノードが故障しました"),
    "end_preempted": ("it had to give way to another job", "他のジョブに資源を譲りました"),
    "end_failed": ("it ended with an error", "エラーで終了しました"),
    "end_other": ("Slurm says {state}", "Slurm の状態は {state} です"),
    "not_known": ("not known", "不明"),
    "now": ("now", "今すぐ"),
    "wakes": ("now, once a node is awake: {why}", "今すぐ (ノードの起動待ち): {why}"),
    "never": ("never: {why}", "開始できません: {why}"),
    "later": ("not now: {why}", "今は開始できません: {why}"),
    "from": ("from {at}: {why}", "{at} から: {why}"),
    "gpus": ("{number} GPU{kind}", "GPU {number}{kind}"),
    "cpus": ("{number} CPU", "CPU {number}"),
    "idle_after": ("; ends when idle for {idle}", "、{idle} 使われないと終了"),
    "idle_warn": (
        "No kernel or terminal has run anything for {quiet}. At {at} this server ends, so that others can use what it "
        "reserves. Files are saved first; what kernels have in memory is lost.",
        "{quiet} の間、カーネルも端末も何も実行していません。{at} にこのサーバーを終了し、予約した資源を解放します。"
        "先にファイルを保存しますが、カーネルのメモリの内容は失われます。",
    ),
    "idle_save": (
        "This server ends now, as it was idle. Files are being saved; what kernels have in memory is lost.",
        "使われていないため、このサーバーを終了します。ファイルを保存しています。カーネルのメモリの内容は失われます。",
    ),
    "idle_ended": (
        "This server has ended, as no kernel or terminal ran anything for {idle}. What kernels had in memory is lost. "
        "What this page could not save is still in it: copy it before you close it.",
        "{idle} の間、カーネルも端末も何も実行しなかったため、このサーバーは終了しました。カーネルのメモリの内容は"
        "失われました。保存できなかった内容はこのページに残っています。閉じる前にコピーしてください。",
    ),
    "idle_keep": ("Keep it running", "終了しない"),
    "limit": ("Time limit", "制限時間"),
    "limit_own": ("at most {most}", "最大 {most}"),
    "limit_learnt": ("from your own earlier servers; at most {most}", "これまでのご自身のサーバーから。最大 {most}"),
    "no_limit": ("No such time limit: {why}.", "制限時間が正しくありません: {why}"),
    "no_profile": ("There is no profile {name}.", "プロファイル {name} はありません。"),
}


def say(key: str, language: str, **values: object) -> str:
    """The sentence in English or Japanese ("ja")."""
    return TEXTS[key][language == "ja"].format(**values)
