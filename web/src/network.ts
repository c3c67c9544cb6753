// A trained network in the browser: value, first and second derivative along one direction.
//
//     h(s) = h₀ + s·δ + …   goes through the stages as its jet (h, h′, h″) at s = 0,
//
// so u, ⟨∇u, δ⟩ and δᵀ∇²u δ come out together. `feynkac export RUN out.json` writes the stages.

interface Affine {
  weight: number[][];
  bias: number[];
}

export type Stage = { kind: string } & Record<string, any>;

export interface Network {
  inputs: string[];
  outputs: number;
  stages: Stage[];
}

/** Values and their derivatives along a direction; `d` and `e` are null if nobody asks. */
interface Jet {
  v: Float64Array;
  d: Float64Array | null;
  e: Float64Array | null;
}

/** f(z), f′(z), f″(z). */
type Scalar = (z: number) => [number, number, number];

const sine: Scalar = (z) => [Math.sin(z), Math.cos(z), -Math.sin(z)];

const FUNCTIONS: Record<string, Scalar> = {
  silu(z) {
    const s = 1 / (1 + Math.exp(-z));
    return [z * s, s * (1 + z * (1 - s)), s * (1 - s) * (2 + z * (1 - 2 * s))];
  },
  exp(z) {
    const e = Math.exp(z);
    return [e, e, e];
  },
  relu: (z) => (z > 0 ? [z, 1, 0] : [0, 0, 0]),
  tanh(z) {
    const t = Math.tanh(z);
    return [t, 1 - t * t, -2 * t * (1 - t * t)];
  },
  gelu(z) {
    const density = Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI);
    const below = normalCdf(z);
    return [z * below, below + z * density, density * (2 - z * z)];
  },
};

/** The normal distribution function to rounding: a series near 0, a continued fraction beyond. */
export function normalCdf(z: number): number {
  const size = Math.abs(z);
  const density = Math.exp(-size * size / 2) / Math.sqrt(2 * Math.PI);
  if (size < 3) {
    let term = size;
    let sum = size;
    for (let k = 1; Math.abs(term) > 1e-18; k++) sum += term *= (size * size) / (2 * k + 1);
    return 0.5 + Math.sign(z) * density * sum;
  }
  let tail = size;
  for (let k = 80; k > 0; k--) tail = size + k / tail;
  return z > 0 ? 1 - density / tail : density / tail;
}

function each(h: Jet, columns: Iterable<number>, f: (z: number, i: number) => ReturnType<Scalar>): Jet {
  const found = copy(h);
  for (const i of columns) {
    const [v, first, second] = f(h.v[i]!, i);
    const d = h.d ? h.d[i]! : 0;
    found.v[i] = v;
    if (found.d) found.d[i] = first * d;
    if (found.e) found.e[i] = second * d * d + first * h.e![i]!;
  }
  return found;
}

function copy(h: Jet): Jet {
  return { v: h.v.slice(), d: h.d && h.d.slice(), e: h.e && h.e.slice() };
}

function range(end: number): number[] {
  return Array.from({ length: end }, (_, i) => i);
}

/** Apply a linear map of arrays to all three parts; only values get the bias. */
function linear(h: Jet, { weight, bias }: Affine): Jet {
  const times = (x: Float64Array | null, b: number[] | null): Float64Array | null => {
    if (!x) return null;
    const found = new Float64Array(weight.length);
    for (let i = 0; i < weight.length; i++) {
      const row = weight[i]!;
      let sum = b ? b[i]! : 0;
      for (let j = 0; j < x.length; j++) sum += row[j]! * x[j]!;
      found[i] = sum;
    }
    return found;
  };
  return { v: times(h.v, bias)!, d: times(h.d, null), e: times(h.e, null) };
}

/** Entry by entry: (pq)″ = p″q + 2p′q′ + pq″. */
function times(p: Jet, q: Jet): Jet {
  return {
    v: p.v.map((a, i) => a * q.v[i]!),
    d: p.d && p.d.map((a, i) => a * q.v[i]! + p.v[i]! * q.d![i]!),
    e: p.e && p.e.map((a, i) => a * q.v[i]! + 2 * p.d![i]! * q.d![i]! + p.v[i]! * q.e![i]!),
  };
}

function parts(h: Jet, f: (x: Float64Array) => Float64Array): Jet {
  return { v: f(h.v), d: h.d && f(h.d), e: h.e && f(h.e) };
}

function joined(a: Jet, b: Jet): Jet {
  const both = (x: Float64Array, y: Float64Array) => Float64Array.of(...x, ...y);
  return { v: both(a.v, b.v), d: a.d && both(a.d, b.d!), e: a.e && both(a.e, b.e!) };
}

function plus(a: Jet, b: Jet): Jet {
  const sum = (x: Float64Array, y: Float64Array) => x.map((z, i) => z + y[i]!);
  return { v: sum(a.v, b.v), d: a.d && sum(a.d, b.d!), e: a.e && sum(a.e, b.e!) };
}

function mean(x: Float64Array): number {
  return x.reduce((sum, z) => sum + z, 0) / x.length;
}

const only = (h: Jet, columns: number[]) =>
  parts(h, (x) => Float64Array.from(columns, (i) => x[i]!));

const exp: Scalar = (z) => [Math.exp(z), Math.exp(z), Math.exp(z)];
const inverse: Scalar = (z) => [1 / z, -1 / z ** 2, 2 / z ** 3];
const squareRoot: Scalar = (z) =>
  z > 0 ? [Math.sqrt(z), 0.5 / Math.sqrt(z), -0.25 / z ** 1.5] : [0, 0, 0];
const density = (z: number) => Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI);
const law: Scalar = (z) => [normalCdf(z), density(z), -z * density(z)];
const bell: Scalar = (z) => [density(z), -z * density(z), (z * z - 1) * density(z)];

const of = (f: Scalar, h: Jet) => each(h, h.v.keys(), f);
const scaled = (c: number, h: Jet) => parts(h, (x) => x.map((z) => c * z));

/** w, or a larger number where distance/w would exceed `far`: there, nothing depends on it. */
function divisor(w: Jet, distance: Jet, far: number, least: number): Jet {
  const bound = Math.max(Math.abs(distance.v[0]!) / far, least);
  return w.v[0]! >= bound ? w : { ...scaled(0, w), v: Float64Array.of(bound) };
}

const STAGES: Record<string, (h: Jet, stage: any) => Jet> = {
  radius(h, { count, floor }) {
    const x = only(h, range(count));
    const square = linear(times(x, x), { weight: [range(count).map(() => 1)], bias: [floor] });
    const rest = range(h.v.length).slice(count);
    return joined(STAGES.root!(square, { columns: [0], floor }), only(h, rest));
  },
  units(h, { pivots, kept, powers, floor, stages }) {
    const logs = STAGES.log!(only(h, pivots), { columns: range(pivots.length), floor });
    const weight = range(kept.length + 1).map((j) => powers.map((row: number[]) => row[j]));
    const sums = linear(logs, { weight, bias: weight.map(() => 0) });
    const factors = each(sums, sums.v.keys(), exp);
    const seen = times(only(h, kept), only(factors, range(kept.length)));
    const found = stages.reduce(apply, seen);
    return times(found, only(factors, range(found.v.length).map(() => kept.length)));
  },
  option(h, { formula, sign, asset, strike, time, growth, rates, powers, factor, far, least, floor, stages }) {
    const t = only(h, [time]);
    const along = (weight: number[]) => times(t, linear(h, { weight: [weight], bias: [0] }));
    const forward = times(only(h, [asset]), of(exp, along(growth)));
    const discount = of(exp, scaled(-1, along(rates)));
    const columns = range(powers.length).filter((i) => powers[i] !== 0);
    const logs = linear(STAGES.log!(h, { columns, floor }), { weight: [powers], bias: [Math.log(factor)] });
    const w = times(of(squareRoot, t), of(exp, plus(logs, stages.reduce(apply, h))));
    const [F, K] = [forward, only(h, [strike])];
    const log = (x: Jet) => STAGES.log!(x, { columns: [0], floor });
    const distance = formula === "black" ? plus(log(F), scaled(-1, log(K))) : plus(F, scaled(-1, K));
    const v = divisor(w, distance, far, least);
    const d = times(distance, of(inverse, v));
    const chance = (z: Jet) => scaled(sign, of(law, scaled(sign, z)));
    if (formula !== "black") {
      return times(discount, plus(times(distance, chance(d)), times(w, of(bell, d))));
    }
    const [up, down] = [plus(d, scaled(0.5, v)), plus(d, scaled(-0.5, v))];
    return times(discount, plus(times(F, chance(up)), scaled(-1, times(K, chance(down)))));
  },
  order(h, { places }: { places: [number, number][] }) {
    const [start, stop] = places[0]!;
    const order = range(stop - start).sort((a, b) => h.v[start + a]! - h.v[start + b]!);
    return parts(h, (x) => {
      const found = x.slice();
      for (const [from] of places) order.forEach((k, i) => (found[from + i] = x[from + k]!));
      return found;
    });
  },
  root: (h, { columns, floor }) =>
    each(h, columns, (z) => {
      const r = Math.sqrt(Math.max(z, floor));
      return z < floor ? [r, 0, 0] : [r, 0.5 / r, -0.25 / r ** 3];
    }),
  log: (h, { columns, floor }) =>
    each(h, columns, (z) => {
      const x = Math.max(z, floor);
      return z < floor ? [Math.log(x), 0, 0] : [Math.log(x), 1 / x, -1 / (x * x)];
    }),
  normalise: (h, { mean, factor }) =>
    each(h, h.v.keys(), (z, i) => [(z - mean[i]) * factor[i], factor[i], 0]),
  scale: (h, { shift, scale }) => each(h, h.v.keys(), (z, i) => [shift[i] + scale[i] * z, scale[i], 0]),
  linear,
  products: (h, { first, second }) => joined(h, times(linear(h, first), linear(h, second))),
  activate: (h, stage) => {
    const f = FUNCTIONS[stage.function]!;
    return each(h, h.v.keys(), (z, i) => (i < (stage.waves ?? 0) ? sine(z) : f(z)));
  },
  "layer-norm"(h, { weight, bias, epsilon }) {
    const c = parts(h, (x) => {
      const m = mean(x);
      return x.map((z) => z - m);
    });
    const square = parts(times(c, c), (x) => new Float64Array(x.length).fill(mean(x)));
    const inverse = each(square, square.v.keys(), (z) => {
      const r = 1 / Math.sqrt(z + epsilon);
      return [r, -0.5 * r ** 3, 0.75 * r ** 5];
    });
    return each(times(c, inverse), c.v.keys(), (z, i) => [bias[i] + weight[i] * z, weight[i], 0]);
  },
  levels(h, { residual, levels }: { residual: boolean; levels: Stage[][][] }) {
    let total: Jet | null = null;
    let above: Jet[] | null = null; // what the maps of the next deeper level made
    for (const maps of levels.toReversed()) {
      const made: Jet[] = [];
      maps.forEach((stages, i) => {
        let got = i === 0 ? h : made[i - 1]!;
        if (residual && above && i >= 2) got = plus(got, above[2 * i - 2]!);
        made.push(stages.reduce(apply, got));
      });
      total = total ? plus(total, made.at(-1)!) : made.at(-1)!;
      above = made;
    }
    return total!;
  },
};

function apply(h: Jet, stage: Stage): Jet {
  const run = STAGES[stage.kind];
  if (!run) throw new Error(`This network has a stage "${stage.kind}" and needs a newer page.`);
  return run(h, stage);
}

/** u and its derivatives along `direction`, of order 0, 1 or 2, at one flat input. */
export function jet(
  network: Network, input: number[], direction: number[] | null = null, order = 0, output = 0,
): [number, number, number] {
  const start: Jet = {
    v: Float64Array.from(input),
    d: order > 0 ? Float64Array.from(direction!) : null,
    e: order > 1 ? new Float64Array(input.length) : null,
  };
  const end = network.stages.reduce(apply, start);
  return [end.v[output]!, end.d ? end.d[output]! : NaN, end.e ? end.e[output]! : NaN];
}

/** All first derivatives. */
export function gradient(network: Network, input: number[], output = 0): number[] {
  return input.map((_, i) => jet(network, input, unit(input.length, i), 1, output)[1]);
}

export function unit(size: number, ...columns: number[]): number[] {
  const found = new Array<number>(size).fill(0);
  for (const i of columns) found[i]! += 1;
  return found;
}

/** ∂²u/∂a∂b by polarisation: two jets instead of a Hessian. */
export function second(network: Network, input: number[], a: number, b: number, output = 0): number {
  const along = (...columns: number[]) =>
    jet(network, input, unit(input.length, ...columns), 2, output)[2];
  if (a === b) return along(a);
  return 0.5 * (along(a, b) - along(a) - along(b));
}
