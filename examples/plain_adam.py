r"""A method of your own: a feed-forward network, trained by AdamW on plain Monte Carlo labels.

    min_Φ  E |Φ(λ) − Y|²,    Y the mean payoff of `paths` independent paths from λ.

Run it:          python examples/plain_adam.py
From a shell:    feynkac --use examples/plain_adam.py solve black-scholes --method plain-adam
"""

from dataclasses import dataclass, replace

import feynkac as fk


@dataclass(frozen=True, kw_only=True)
class PlainAdam(fk.Method):
    """Set any field, as in `PlainAdam(batch_size=256, learning_rate=1e-2)`."""

    learning_rate: float = 3e-3

    def resolve(self, family, allowance=None, device="cpu"):
        """Choose every field that is still open."""
        exact = isinstance(family, fk.ExactSampler)
        return replace(
            self,
            architecture=self.architecture or fk.FeedForward(factor=8, norm="none"),
            scheme=self.scheme or (fk.Exact() if exact else fk.EulerMaruyama(steps=20)),
            noise=self.noise or fk.Independent(),
            optimiser=self.optimiser or fk.AdamW(learning_rate=self.learning_rate),
            schedule=self.schedule or fk.LinearDecay(),
            batch_size=self.batch_size or 1024,
            paths=self.paths or 16,
        )

    def objective(self, family, network, training):
        """Least squares on simulated values."""
        rows = training.per_worker(self.batch_size)
        return fk.MeanSquare(family, self.scheme, rows, self.paths)

    def length(self, family):
        """Number of steps, unless the run sets steps or a budget."""
        return 2000

    def space(self, family):
        """The ranges that `feynkac tune --method plain-adam` searches."""
        rates = fk.Interval(1e-4, 1e-1, log=True)
        return fk.Space(
            {"learning_rate": rates},
            {"learning_rate": self.learning_rate},
            lambda values: replace(self, **values),
        )


if __name__ == "__main__":
    solution = fk.solve(fk.BlackScholes(), PlainAdam(), steps=100)
    print(f"L1 error {solution.error().l1:.4f} after 100 steps; take more")
