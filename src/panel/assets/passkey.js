// @ts-check

/* Forms with `data-passkey="create|get"` and `data-options="…"`: the browser answers the challenge, and the form sends the answer. */
{
  /** @param {string} text base64url @returns {ArrayBuffer} */
  const toBytes = (text) =>
    Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0)).buffer;

  /** @param {ArrayBuffer} bytes @returns {string} base64url */
  const toText = (bytes) =>
    btoa(String.fromCharCode(...new Uint8Array(bytes)))
      .replaceAll('+', '-')
      .replaceAll('/', '_')
      .replaceAll('=', '');

  /** @param {any} options as JSON */
  const create = async (options) => {
    const publicKey = {
      ...options,
      challenge: toBytes(options.challenge),
      user: { ...options.user, id: toBytes(options.user.id) },
      excludeCredentials: options.excludeCredentials.map((/** @type {any} */ one) => ({ ...one, id: toBytes(one.id) })),
    };
    const made = /** @type {any} */ (await navigator.credentials.create({ publicKey }));
    return answerOf(made, ['clientDataJSON', 'attestationObject']);
  };

  /** @param {any} options as JSON */
  const get = async (options) => {
    const publicKey = { ...options, challenge: toBytes(options.challenge) };
    const found = /** @type {any} */ (await navigator.credentials.get({ publicKey }));
    return answerOf(found, ['clientDataJSON', 'authenticatorData', 'signature', 'userHandle']);
  };

  /** @param {any} credential @param {string[]} names */
  const answerOf = (credential, names) => {
    const response = Object.fromEntries(
      names.filter((name) => credential.response[name]).map((name) => [name, toText(credential.response[name])]),
    );
    return JSON.stringify({ id: credential.id, rawId: toText(credential.rawId), type: credential.type, response });
  };

  for (const form of document.querySelectorAll('form[data-passkey]')) {
    if (!(form instanceof HTMLFormElement)) continue;
    const field = /** @type {HTMLInputElement} */ (form.elements.namedItem('answer'));
    const problem = form.querySelector('[data-passkey-problem]');
    let isAsking = false;
    const ask = async () => {
      if (isAsking) return;
      isAsking = true;
      problem?.setAttribute('hidden', '');
      try {
        const options = JSON.parse(form.dataset.options ?? '');
        field.value = await (form.dataset.passkey === 'create' ? create(options) : get(options));
        form.submit();
      } catch {
        // Cancelled, no passkey for this site, or no authenticator: the user may press the button again.
        problem?.removeAttribute('hidden');
      } finally {
        isAsking = false;
      }
    };
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void ask();
    });
    void ask();
  }
}
