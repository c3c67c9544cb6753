// Colours of the style sheet for canvases, and the ramp of heat maps.

export function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Corners of the ramp in OKLab (lightness, a, b): lightness rises evenly, so equal steps look equal. */
const RAMP: [number, number, number][] = [
  [0.24, 0.03, -0.11],
  [0.4, -0.005, -0.14],
  [0.56, -0.08, -0.06],
  [0.72, -0.12, 0.06],
  [0.9, -0.04, 0.16],
];

/** The colour at a fraction of the ramp, each channel 0 to 255. */
export function ramp(part: number): [number, number, number] {
  const place = Math.min(1, Math.max(0, part)) * (RAMP.length - 1);
  const i = Math.min(RAMP.length - 2, Math.floor(place));
  const [L, a, b] = [0, 1, 2].map((k) => {
    const [low, high] = [RAMP[i]![k]!, RAMP[i + 1]![k]!];
    return low + (place - i) * (high - low);
  }) as [number, number, number];
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

function gamma(linear: number): number {
  const x = Math.min(1, Math.max(0, linear));
  return Math.round(255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055));
}
