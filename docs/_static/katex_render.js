// Set every formula of the page. KaTeX comes with the site; a formula that it refuses stays readable as TeX, in red.
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll(".math.inline, .math.display")) {
    const displayMode = element.classList.contains("display");
    katex.render(element.textContent, element, { displayMode, throwOnError: false, strict: "ignore" });
  }
});
