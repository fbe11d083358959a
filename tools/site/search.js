/* The search of the site, without a server and without a worker, which browsers do not start for pages that are read from files. */
(function () {
  "use strict";

  function load(name, then) {
    var script = document.createElement("script");
    script.src = base_url + "/search/" + name;
    script.onload = then;
    document.head.appendChild(script);
  }

  function asked() {
    return new URLSearchParams(window.location.search).get("q") || "";
  }

  function element(name, text) {
    var made = document.createElement(name);
    made.textContent = text;
    return made;
  }

  /* The words around the first of those that were asked for. */
  function excerpt(text, words) {
    var at = -1;
    words.forEach(function (word) {
      var found = text.toLowerCase().indexOf(word);
      if (found >= 0 && (at < 0 || found < at))
        at = found;
    });
    var from = Math.max(0, at - 80);
    return (from ? "... " : "") + text.slice(from, from + 240);
  }

  function show(query, found, documents) {
    var place = document.getElementById("results"), words = query.toLowerCase().split(/\s+/);
    place.textContent = "";
    if (!found.length)
      place.appendChild(element("p", "Nothing was found."));
    found.slice(0, 30).forEach(function (one) {
      var entry = documents[one.ref], article = document.createElement("article"), head = document.createElement("h3");
      var link = element("a", entry.title);
      link.href = base_url + "/" + entry.location;
      head.appendChild(link);
      article.appendChild(head);
      article.appendChild(element("p", excerpt(entry.text, words)));
      place.appendChild(article);
    });
  }

  function start() {
    var input = document.getElementById("query"), documents = {};
    var index = lunr(function () {
      this.ref("location");
      this.field("title", { boost: 10 });
      this.field("text");
      search_index.docs.forEach(function (one) {
        documents[one.location] = one;
        this.add(one);
      }, this);
    });
    function search() {
      var query = input.value.replace(/[-+~^:*]/g, " ").trim();
      if (query.length > 1)
        show(query, index.search(query), documents);
    }
    input.addEventListener("input", search);
    input.value = asked();
    search();
  }

  load("lunr.js", function () { load("search_index.js", start); });
})();
