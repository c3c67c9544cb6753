// Numbers and names as a reader wants them.

const GREEK: Record<string, string> = {
  alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ε", zeta: "ζ", eta: "η", theta: "θ",
  kappa: "κ", lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", pi: "π", rho: "ρ", sigma: "σ", tau: "τ",
  phi: "φ", chi: "χ", psi: "ψ", omega: "ω",
};

/** The name of an input as it stands in a formula: `sigma[0, 1]` is σ₀,₁. */
export function symbol(entry: string): string {
  const [, name, index] = /^([^[]+)(?:\[(.*)\])?$/.exec(entry) ?? [entry, entry, undefined];
  const letter = GREEK[name!] ?? name!;
  return index === undefined ? letter : `${letter}[${index}]`;
}

/** The name of a quantity; capitals are the usual signs of derivatives. */
export function quantityLabel(quantity: string): string {
  if (quantity === "value") return "u";
  const derivative = /^∂u\/∂(.*)$/.exec(quantity);
  return derivative ? `∂u/∂${symbol(derivative[1]!)}` : quantity;
}

/** The word below a label: what the number is, in units of u and of the input. */
export function quantityMeaning(quantity: string, of: string[] = []): string {
  if (quantity === "value") return "solution u";
  const derivative = /^∂u\/∂(.*)$/.exec(quantity);
  const inputs = derivative ? [derivative[1]!] : of;
  return inputs.length ? `u per ${inputs.map(symbol).join(" and ")}` : quantity;
}

/** What an input is, for an axis. */
export function inputMeaning(entry: string): string {
  if (entry === "t") return "time t";
  return /^x(\[|$)/.test(entry) ? `state ${symbol(entry)}` : `parameter ${symbol(entry)}`;
}

/** Six significant digits without trailing zeros. */
export function short(value: number | null | undefined, digits = 6): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return tidy(value.toExponential(Math.min(digits - 1, 3)));
  return tidy(value.toPrecision(digits));
}

function tidy(text: string): string {
  const [mantissa, exponent] = text.split("e");
  const clean = mantissa!.includes(".") ? mantissa!.replace(/\.?0+$/, "") : mantissa!;
  const signed = clean.replace("-", "−");
  return exponent === undefined ? signed : `${signed}e${exponent.replace("+", "").replace("-", "−")}`;
}

export function signed(value: number, digits = 2): string {
  return (value > 0 ? "+" : value < 0 ? "−" : "") + short(Math.abs(value), digits);
}

/** A number that a person typed, with either minus sign. */
export function parse(text: string): number {
  const clean = text.trim().replace("−", "-");
  return clean === "" ? NaN : Number(clean);
}

/** Ticks of an axis, close together numbers included. */
export function ticks(values: number[]): string[] {
  const step = Math.abs((values[1] ?? 1) - (values[0] ?? 0)) || 1;
  const largest = Math.max(...values.map(Math.abs), 1e-300);
  if (largest >= 1e6 || largest < 1e-3) return values.map((v) => (v === 0 ? "0" : tidy(v.toExponential(3))));
  let decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const exact = (v: number) => Math.abs(Number(v.toFixed(decimals)) - v) < 1e-6 * step;
  while (decimals < 8 && !values.every((v) => Number.isNaN(v) || exact(v))) decimals++;
  return values.map((v) => v.toFixed(decimals).replace("-", "−"));
}
