// @ts-check

/* Small comforts of the pages about a restaurant. Everything works without them. */
(() => {
  // A reload of the page that shows a secret must not send the form again and make another one.
  const shown = document.querySelector('[data-shown-once]');
  if (shown !== null) history.replaceState(null, '', shown.getAttribute('data-shown-once') ?? location.href);
})();
