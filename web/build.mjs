// Builds the page into the Python package: `npm ci && npm run build`. The result is committed, so
// that nobody needs Node to install feynkac; CI builds it again and compares byte for byte.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

// What nobody here uses of uPlot, and no bundler can see: its other kinds of paths (steps, bars,
// splines), which it hangs on its constructor, and axes of dates. Without them it is 13 kB smaller.
const UNUSED = [
  [/\nuPlot\.assign = [^]*?(?=\nexport \{)/, ""],
  [/\nfunction genTimeStuffs\(ms\) \{[^]*?\n\}/, "\nfunction genTimeStuffs() { return [[], [], noop]; }"],
  [/\nfunction fmtDate\(tpl, names\) \{[^]*?\n\}/, "\nfunction fmtDate() { return noop; }"],
  [/\nconst engNames = \{[^]*?\n\};/, ""],
  [/\nfunction timeAxisVals\(tzDate, stamps\) \{[^]*?\n\}/, "\nfunction timeAxisVals() { return noop; }"],
  [/\nfunction tzDate\(date, tz\) \{[^]*?\n\}/, ""],
];
const lean = {
  name: "lean-uplot",
  setup: ({ onLoad }) =>
    onLoad({ filter: /uPlot\.esm\.js$/ }, ({ path }) => {
      let contents = readFileSync(path, "utf8");
      for (const [old, lean] of UNUSED) {
        const next = contents.replace(old, lean);
        if (next === contents) throw new Error(`uPlot has changed: there is no ${old} in it`);
        contents = next;
      }
      return { contents, loader: "js" };
    }),
};

const out = "../src/feynkac/interfaces/web/dist";
const assets = `${out}/assets`;
mkdirSync(assets, { recursive: true });

await build({
  entryPoints: { app: "src/main.tsx" },
  outdir: assets,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  logLevel: "info",
  plugins: [lean],
});

copyFileSync("src/index.html", `${out}/index.html`);
copyFileSync("src/icon.svg", `${assets}/icon.svg`);

const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
const licences = Object.entries(dependencies).map(([name, version]) => {
  const text = readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim();
  return `${name} ${version}\n\n${text}\n`;
});
writeFileSync(`${out}/LICENSES.txt`, licences.join(`\n${"-".repeat(72)}\n\n`));
