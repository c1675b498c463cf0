// @ts-check

/* Small comforts of the pages about a restaurant. Everything works without them. */
(() => {
  // A reload of the page that shows a secret must not send the form again and make another one.
  const shown = document.querySelector('[data-shown-once]');
  if (shown !== null) history.replaceState(null, '', shown.getAttribute('data-shown-once') ?? location.href);

  // A moment in the viewer's zone goes to the server in UTC; without script there is no such field.
  for (const element of document.querySelectorAll('[data-with-script]')) element.removeAttribute('hidden');
  for (const field of document.querySelectorAll('input[data-moment]')) {
    const target = document.getElementById(field.getAttribute('data-moment') ?? '');
    if (!(field instanceof HTMLInputElement) || !(target instanceof HTMLInputElement)) continue;
    field.addEventListener('input', () => {
      const at = new Date(field.value);
      target.value = Number.isNaN(at.getTime()) ? '' : at.toISOString();
    });
  }
})();
