// @ts-check

/* The script of the pages about a restaurant. All pages work without it. */
(() => {
  // Reloading the page that shows a secret must not send the form again and create another one.
  const shown = document.querySelector('[data-shown-once]');
  if (shown !== null) history.replaceState(null, '', shown.getAttribute('data-shown-once') ?? location.href);

  // A time in the viewer's zone is sent in UTC. Without script the field stays hidden.
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
