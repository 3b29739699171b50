"""Training and evaluating by the command, for what a process tells: memory, latency."""
import json
import os
import subprocess


class Command:
    """Works in a folder of its own, on one model there at a time."""

    def __init__(self, program, folder, scale="auto"):
        self.program, self.folder, self.scale = program, folder, scale
        self.model = self.path("model.limn")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words, before=()):
        done = subprocess.run([*before, self.program, *words], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or f"{words[0]} failed")
        return done

    def train(self, data, seed=1, method="vpc", params=(), before=(), more=()):
        params = [word for param in params for word in ("-p", param)]
        return self.run("train", data, "-m", method, *params, "--scale", self.scale, "--seed",
                        str(seed), "-o", self.model, "--json", *more, before=before)

    def training_cost(self, data, **how):
        """The summary of a training and the peak memory of its process in MB."""
        done = self.train(data, before=["/usr/bin/time", "-f", "%M"], **how)
        return json.loads(done.stdout), int(done.stderr.split()[-1]) * 1024 / 1e6

    def eval(self, data, *more):
        return json.loads(self.run("eval", self.model, data, "--json", *more).stdout)

    def stats(self):
        return json.loads(self.run("info", self.model, "--json").stdout)["stats"]
