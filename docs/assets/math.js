// Renders the formulas of a page with the bundled KaTeX; no other server is asked.
const show = (tex, place, displayMode) =>
  katex.render(tex, place, { displayMode, throwOnError: false, strict: false });

document.querySelectorAll(".arithmatex").forEach((place) => {
  const text = place.textContent.trim();
  show(text.slice(2, -2), place, text.startsWith("\\["));
});

// Docstrings and result tables are read in terminals too and hold formulas as text, such as
// "σ = 0.35". On a page, a run of symbols, numbers and single letters becomes a formula if it has a
// sign that prose has not.
const SIGN =
  /[Α-ω∂∇∫∑∏√‖²³¹⁰-ₜᵢ-ᵪ½¼⟨⟩∞ū↦ḣ\u0302\u0307]|\b[a-zA-Z]{1,4}_([a-zA-Z0-9]\b|\{)|\^[\w{−]/;
const FUNCTIONS = ["exp", "log", "ln", "max", "min", "sup", "sin", "cos", "tanh", "Tr"];
const OPERATOR = /^[=<>≤≥≠≈~±∓+−·×∘|/→←↦∈≪≫-]+$/;
const LETTER = /^[b-zB-HJ-Z]$|^d[xtwBWSu]$/;

function isFormula(token) {
  const core = token.replace(/^[([]+|[)\].,;:]+$/g, "");
  if (SIGN.test(token) || OPERATOR.test(token) || LETTER.test(core)) return true;
  if (FUNCTIONS.includes(core)) return true;
  const words = token.match(/[A-Za-z]+/g) ?? [];
  if (words.some((word) => word.length > 2 && !FUNCTIONS.includes(word))) return false;
  return words.length === 0 ? /[\d([{|]/.test(token) : /[^A-Za-z.,;:’'–]/.test(token);
}

function count(text, characters) {
  return [...text].filter((each) => characters.includes(each)).length;
}

// [text, is it a formula], in the order of the text.
function splitFormulas(text) {
  const parts = [];
  let run = [], plain = "";
  const end = () => {
    let words = run, after = "";
    while (words.length && /^([=<>≤≥≠≈±+−·×/→-]|\s+)$/.test(words.at(-1)))
      after = words.pop() + after;
    while (words.length && /^([=+·×/]|\s+)$/.test(words[0])) plain += words.shift();
    let formula = words.join("");
    const [before] = formula.match(/^\(*/);
    const opened = count(formula, "([") - count(formula, ")]");
    if (opened > 0 && before) {
      plain += before.slice(0, opened);
      formula = formula.slice(Math.min(opened, before.length));
    }
    let tail = formula.match(/[.,;:]*$/)[0];
    if (opened < 0 && /\)[.,;:]*$/.test(formula)) tail = formula.match(/\)[.,;:]*$/)[0];
    formula = formula.slice(0, formula.length - tail.length);
    if (SIGN.test(formula)) {
      if (plain) parts.push([plain, false]);
      parts.push([formula, true]);
      plain = tail + after;
    } else plain += formula + tail + after;
    run = [];
  };
  for (const token of text.split(/(\s+)/)) {
    if (/^\s*$/.test(token)) run.length ? run.push(token) : (plain += token);
    else if (isFormula(token)) {
      run.push(token);
      if (/[.;:]$/.test(token)) end();
    } else {
      end();
      plain += token;
    }
  }
  end();
  if (plain) parts.push([plain, false]);
  return parts;
}

const COMMANDS = { "½": "\\tfrac12 ", "¼": "\\tfrac14 ", "~": "\\sim ", "%": "\\%", "′": "'" };

function toTex(formula) {
  return formula
    .replace(/(?<=\d),(?=\d{3})/g, "{,}")
    .replace(/\b1e([-−]?)0*(\d+)/g, "10^{$1$2}")
    .replace(/(\d)e([-−]?)0*(\d+)/g, "$1\\cdot10^{$2$3}")
    .replace(/√\(((?:[^()]|\([^()]*\))*)\)/g, "\\sqrt{$1}")
    .replace(/√([\wΑ-ω]+(?:\([^()]*\))?)/g, "\\sqrt{$1}")
    .replace(/_([A-Za-z0-9Α-ω]+)/g, "_{$1}")
    .replace(/\^(\([^()]*\)|[^\s{(),;|\]]+)/g, "^{$1}")
    .replace(/([Α-ω]|_\{[^}]*\})\*/g, "$1^*")
    .replace(/ᵀ/g, "^{\\top}")
    .replace(/(?<![\\A-Za-z])(?:[A-Za-z]{3,}|ln|Tr)(?![A-Za-z])/g, (word) =>
      FUNCTIONS.includes(word) ? `\\operatorname{${word}}` : `\\mathrm{${word}}`)
    .replace(/[½¼~%′]/g, (sign) => COMMANDS[sign]);
}

function formulasOf(article) {
  const nodes = [];
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (const node of nodes) {
    if (!SIGN.test(node.data)) continue;
    if (node.parentElement.closest("code, pre, script, style, svg, .arithmatex, .katex")) continue;
    const places = splitFormulas(node.data).map(([text, formula]) => {
      if (!formula) return text;
      const place = document.createElement("span");
      show(toTex(text), place, false);
      return place;
    });
    node.replaceWith(...places);
  }
}

document.querySelectorAll("article").forEach(formulasOf);
