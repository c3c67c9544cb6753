// Builds the page into the Python package: `npm ci && npm run build`. The result is committed, so
// that nobody needs Node to install feynkac; CI builds it again and compares byte for byte.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

// What nobody here uses of uPlot, and no bundler can see: its other kinds of paths (steps, bars,
// splines), which it hangs on its constructor, axes of dates, its legend and bands. That is 17 kB.
const UNUSED = [
  [/\nuPlot\.assign = [^]*?(?=\nexport \{)/, ""],
  [/\nfunction genTimeStuffs\(ms\) \{[^]*?\n\}/, "\nfunction genTimeStuffs() { return [[], [], noop]; }"],
  [/\nfunction fmtDate\(tpl, names\) \{[^]*?\n\}/, "\nfunction fmtDate() { return noop; }"],
  [/\nconst months = \[[^]*?\nconst engNames = \{[^]*?\n\};/, ""],
  [/\nfunction timeAxisVals\(tzDate, stamps\) \{[^]*?\n\}/, "\nfunction timeAxisVals() { return noop; }"],
  [/\nfunction tzDate\(date, tz\) \{[^]*?\n\}/, ""],
  [/\n\tfunction initLegendRow\(s, i\) \{[^]*?\n\t\}/, "\n\tfunction initLegendRow() {}"],
  [/\n\tfunction setLegend\(opts, _fire\) \{[^]*?\n\t\}/, "\n\tfunction setLegend() {}"],
  [/\nfunction clipBandLine\([^)]*\) \{[^]*?\n\}/, "\nfunction clipBandLine() {}"],
];
const lean = {
  name: "lean-uplot",
  setup({ onLoad }) {
    onLoad({ filter: /uPlot\.min\.css$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(/[^{}]*\.u-(legend|inline|series|title)[^{}]*\{[^}]*\}/g, ""),
      loader: "css",
    }));
    onLoad({ filter: /uPlot\.esm\.js$/ }, ({ path }) => {
      let contents = readFileSync(path, "utf8");
      for (const [old, lean] of UNUSED) {
        const next = contents.replace(old, lean);
        if (next === contents) throw new Error(`uPlot has changed: there is no ${old} in it`);
        contents = next;
      }
      return { contents, loader: "js" };
    });
  },
};

const home = "../src/feynkac/interfaces/web";
const out = `${home}/dist`;
const assets = `${out}/assets`;
mkdirSync(assets, { recursive: true });

const common = { minify: true, target: "es2023", charset: "utf8", legalComments: "none", logLevel: "info" };
const page = { ...common, bundle: true, format: "iife", jsx: "automatic", jsxImportSource: "preact", plugins: [lean] };

await build({ ...page, entryPoints: { app: "src/main.tsx" }, outdir: assets });
// What `feynkac report` embeds; its style is the page's.
await build({ ...page, entryPoints: ["src/report.tsx"], outfile: `${home}/report.js` });
rmSync(`${home}/report.css`);
// The evaluation of a network alone, for programs in JavaScript.
await build({ ...common, entryPoints: ["src/network.ts"], outfile: `${home}/network.js`, format: "esm" });

copyFileSync("src/index.html", `${out}/index.html`);
copyFileSync("src/icon.svg", `${assets}/icon.svg`);

const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
const licences = Object.entries(dependencies).map(([name, version]) => {
  const text = readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim();
  return `${name} ${version}\n\n${text}\n`;
});
writeFileSync(`${out}/LICENSES.txt`, licences.join(`\n${"-".repeat(72)}\n\n`));
