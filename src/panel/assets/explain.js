// @ts-check

/* Asks the API why a request was refused, with the credential from the form, and shows the explanation. */
const form = document.getElementById('explain');
const place = document.getElementById('explanation');
if (form instanceof HTMLFormElement && place !== null) {
  /** @param {string} name */
  const field = (name) => String(new FormData(form).get(name) ?? '').trim();

  const showKind = () => {
    for (const label of form.querySelectorAll('[data-kind]'))
      if (label instanceof HTMLElement) label.hidden = label.dataset.kind !== field('kind');
  };

  /** The header of the credential; undefined when a field is empty. @returns {Record<string, string> | undefined} */
  const credential = () => {
    const [key, client, secret, token] = ['key', 'client', 'secret', 'token'].map(field);
    if (field('kind') === 'key') return key ? { 'x-api-key': key } : undefined;
    if (field('kind') === 'token') return token ? { authorization: `Bearer ${token}` } : undefined;
    return client && secret ? { 'x-client-id': client, 'x-client-secret': secret } : undefined;
  };

  /** @param {string} id @returns {DocumentFragment | undefined} */
  const copyOf = (id) => {
    const template = document.getElementById(id);
    return template instanceof HTMLTemplateElement
      ? /** @type {DocumentFragment} */ (template.content.cloneNode(true))
      : undefined;
  };

  /** @param {string} id @param {string} [detail] */
  const say = (id, detail) => {
    const part = copyOf(id);
    const slot = part?.querySelector('[data-slot="detail"]');
    if (slot) slot.textContent = detail ?? '';
    place.replaceChildren(...(part === undefined ? [] : [part]));
  };

  /** Puts parts into a row of the facts, or takes the row away. @param {DocumentFragment} facts @param {string} name @param {(Node | string)[]} parts */
  const fill = (facts, name, parts) => {
    const slot = facts.querySelector(`[data-slot="${name}"]`);
    if (slot === null) return;
    if (parts.length > 0) return slot.append(...parts);
    slot.previousElementSibling?.remove();
    slot.remove();
  };

  /** @param {string} text */
  const code = (text) => {
    const element = document.createElement('code');
    element.textContent = text;
    return element;
  };

  /** @param {string} iso */
  const moment = (iso) => {
    const at = new Date(iso);
    const style = /** @type {const} */ ({ dateStyle: 'medium', timeStyle: 'medium' });
    return Number.isNaN(at.getTime()) ? iso : new Intl.DateTimeFormat(document.documentElement.lang, style).format(at);
  };

  /** @param {Record<string, unknown>} detail */
  const details = (detail) =>
    Object.entries(detail).map(([name, value]) => {
      const words = copyOf('detail-words')?.querySelector(`[data-detail="${CSS.escape(name)}"]`)?.textContent ?? name;
      const line = document.createElement('div');
      line.textContent = `${words}: ${name.endsWith('_iso') ? moment(String(value)) : String(value)}`;
      return line;
    });

  /** @param {any} denial */
  const explain = (denial) => {
    const facts = copyOf('facts');
    const words = copyOf(`reason-${denial.reason}`) ?? copyOf('reason-upstream');
    if (facts === undefined || words === undefined) return;
    const link = document.createElement('a');
    link.href = `/docs/errors#${encodeURIComponent(denial.code)}`;
    link.textContent = denial.code;
    fill(facts, 'at', [moment(denial.at_iso)]);
    fill(facts, 'request', [code(`${denial.method} ${denial.path}`)]);
    fill(facts, 'answer', [`${denial.status} `, link]);
    fill(
      facts,
      'missing',
      denial.missing_scopes.flatMap((/** @type {string} */ scope) => [code(scope), ' ']),
    );
    fill(facts, 'details', details(denial.detail));
    fill(
      facts,
      'errors',
      denial.errors.map((/** @type {{ pointer: string, message: string }} */ error) => {
        const line = document.createElement('div');
        line.append(code(error.pointer), ` ${error.message}`);
        return line;
      }),
    );
    place.replaceChildren(words, facts);
  };

  const ask = async () => {
    const headers = credential();
    if (headers === undefined || field('request') === '') {
      place.textContent = form.dataset.missing ?? '';
      return;
    }
    place.textContent = form.dataset.asking ?? '';
    // Without cookies: only the typed credential decides what may be read.
    const answer = await fetch(`/api/whoami/denials/${encodeURIComponent(field('request'))}`, {
      headers: { accept: 'application/json', ...headers },
      credentials: 'omit',
      cache: 'no-store',
    });
    const body = await answer.json();
    if (answer.ok) explain(body.denial);
    else if (answer.status === 404) say('not-found');
    else if (answer.status === 429) say('too-many', answer.headers.get('retry-after') ?? '');
    else if (answer.status < 500) say('not-accepted', String(body.message ?? body.error_description ?? ''));
    else say('failed');
  };

  form.addEventListener('change', showKind);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    // The input is not a valid header value, or the API did not respond.
    ask().catch(() => say('failed'));
  });
  showKind();
  const button = form.querySelector('button');
  if (button !== null) button.disabled = false;
}
