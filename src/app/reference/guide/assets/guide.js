// @ts-check

/* Buttons that copy code, and results of the search while words are typed. Everything can be read without this script. */

/** @param {Element} box */
const addCopyButton = (box) => {
  const code = box.querySelector('code');
  if (code === null) return;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(code.textContent ?? '').then(
      () => {
        button.textContent = 'Copied';
        setTimeout(() => {
          button.textContent = 'Copy';
        }, 2000);
      },
      () => {
        button.textContent = 'Not allowed';
      },
    );
  });
  box.append(button);
};

// Browsers offer the clipboard to https and to the own machine only.
if (navigator.clipboard !== undefined) for (const box of document.querySelectorAll('.code')) addCopyButton(box);

const form = document.querySelector('form.search');
const field = form?.querySelector('input');
const list = form?.querySelector('.search-results');

if (form instanceof HTMLFormElement && field instanceof HTMLInputElement && list instanceof HTMLElement) {
  let timer = 0;
  let asked = 0;

  const hide = () => {
    list.hidden = true;
  };

  const show = async () => {
    asked += 1;
    const number = asked;
    const words = field.value.trim();
    if (words.length < 2) return hide();
    const answer = await fetch(`/docs/search?${new URLSearchParams({ q: words })}`);
    const found = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('#results');
    // A later question has its own answer.
    if (number !== asked || found === null) return;
    list.replaceChildren(...found.childNodes);
    list.hidden = false;
  };

  field.addEventListener('input', () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void show().catch(hide), 150);
  });

  document.addEventListener('keydown', (event) => {
    const { target } = event;
    const isTyping = target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
    if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
    }
    if (event.key === 'Escape' && !list.hidden) {
      hide();
      field.focus();
    }
    if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && form.contains(document.activeElement)) {
      const links = [...list.querySelectorAll('a')];
      if (list.hidden || links.length === 0) return;
      event.preventDefault();
      const at = links.indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement));
      const next = event.key === 'ArrowDown' ? at + 1 : at - 1;
      (links[next] ?? field).focus();
    }
  });

  document.addEventListener('click', ({ target }) => {
    if (target instanceof Node && !form.contains(target)) hide();
    if (target instanceof Element && list.contains(target) && target.closest('a') !== null) hide();
  });
}
