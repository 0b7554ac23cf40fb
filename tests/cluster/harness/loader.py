"""A training as a data loader feeds it: worker processes read files and decode them, the main one computes.

    loader.py FOLDER WORKERS BATCH COMPUTE_MS DECODE_MS SECONDS GPUS

While it computes, its GPU is busy: once a second it writes the share of that second to line CUDA_VISIBLE_DEVICES of the
file GPUS, which the stand-in for NVML reads. At its end it prints which share of its time the training waited for its
loader, and how many batches it had.
"""

import multiprocessing
import os
import random
import sys
import time

folder, workers, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
compute, decode, lasts = (float(word) for word in sys.argv[4:7])
minor = int(os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0])
gpus = os.open(sys.argv[7], os.O_WRONLY)


def line(number, use):
    """One GPU as fake_nvml.c reads it; all lines are of one length."""
    return b"%02d %03d 0001 0002 ok\n" % (number, use)


def work(names, queue):
    while True:
        for name in random.sample(names, batch):
            file = os.open(f"{folder}/{name}", os.O_RDONLY)
            while os.read(file, 1 << 20):
                pass
            os.close(file)
            end = time.process_time() + decode / 1e3
            while time.process_time() < end:
                pass
        queue.put(1)


def gpu(use):
    os.pwrite(gpus, line(minor, use), minor * len(line(minor, use)))


if __name__ == "__main__":
    names = [one.name for one in os.scandir(folder)]
    queue = multiprocessing.Queue(2 * workers)
    processes = [multiprocessing.Process(target=work, args=(names, queue), daemon=True) for _ in range(workers)]
    for process in processes:
        process.start()
    queue.get()
    begin = told = time.monotonic()
    stall, busy, batches = 0.0, 0.0, 0
    while (now := time.monotonic()) < begin + lasts:
        queue.get()
        begun = time.monotonic()
        stall += begun - now
        time.sleep(compute / 1e3)
        end = time.monotonic()
        busy += end - begun
        batches += 1
        if end - told >= 1:
            gpu(min(round(100 * busy / (end - told)), 100))
            told, busy = end, 0.0
    gpu(0)
    print(f"{stall / (time.monotonic() - begin):.2f} {batches}", flush=True)
    for process in processes:
        process.kill()
