/*
 * Shows the OpenAPI document. A reader can try operations with a credential against this server. The credential stays in the
 * memory of the page and is sent to no other address. Requests carry no cookies, so that the credential alone decides.
 */
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
/** Examples and defaults of optional parameters are shown beside the fields: in the fields they would be sent. */
const forTrying = ({ parameters = [] }) => {
  for (const parameter of parameters) {
    if (parameter.required === true) continue;
    const { example, description, schema = {} } = parameter;
    const shown = { Default: schema.default, Example: example };
    const texts = Object.entries(shown).flatMap(([name, value]) =>
      value === undefined ? [] : `${name}: ${JSON.stringify(value)}`,
    );
    parameter.description = [description, ...texts].filter(Boolean).join('. ');
    delete parameter.example;
    delete schema.default;
  }
};
/** The page may be read under another host name than the document has. */
const here = (document) => {
  document.servers = [{ url: location.origin }];
  const flows = document.components.securitySchemes.bearer?.flows ?? {};
  for (const flow of Object.values(flows)) flow.tokenUrl = location.origin + new URL(flow.tokenUrl).pathname;
  forTrying({ parameters: Object.values(document.components.parameters) });
  for (const path of Object.values(document.paths)) for (const operation of Object.values(path)) forTrying(operation);
  return document;
};
/** The viewer shows keys and tokens in plain text fields; here every field of a credential hides what is typed. */
const isCredential = (id) =>
  id === 'api_key_value' || id === 'auth-bearer-value' || String(id).startsWith('client_secret_');
const hideCredentials = () => ({
  wrapComponents: {
    Input:
      (Original, { React }) =>
      (props) =>
        React.createElement(
          Original,
          isCredential(props.id) ? { ...props, type: 'password', autoComplete: 'off', spellCheck: false } : props,
        ),
  },
});
/** A link inside the button of an operation is out of reach for a screen reader; the button changes the address by itself. */
const plainPaths = () => ({
  wrapComponents: {
    OperationSummaryPath:
      (Original, { React }) =>
      (props) => {
        const Text = ({ text }) => React.createElement('span', null, text);
        const getComponent = (name, ...rest) => (name === 'DeepLink' ? Text : props.getComponent(name, ...rest));
        return React.createElement(Original, { ...props, getComponent });
      },
  },
});
/** As the layout of the viewer, without its `main`, since the page has one that holds the viewer. */
const frameLayout = ({ React: { createElement } }) => ({
  components: {
    FrameLayout: ({ getComponent }) => {
      const show = (name) => createElement(getComponent(name, true));
      const column = (...content) => createElement(getComponent('Col'), { mobile: 12, desktop: 12 }, ...content);
      const row = (className, name) => createElement(getComponent('Row'), { className }, column(show(name)));
      const servers = createElement('div', { className: 'schemes-server-container' }, show('ServersContainer'));
      return createElement(
        'div',
        { className: 'swagger-ui' },
        createElement(getComponent('SvgAssets')),
        show('errors'),
        row('information-container', 'InfoContainer'),
        createElement(
          'div',
          { className: 'scheme-container' },
          createElement('section', { className: 'schemes wrapper' }, servers, show('AuthorizeBtnContainer')),
        ),
        row(undefined, 'operations'),
        row('webhooks-container', 'Webhooks'),
      );
    },
  },
});
/** Attributes that the viewer leaves out: by selector, the name and the value for an element. */
const levels = [
  ['.info .title, .modal-ux-header h3', 2],
  ['.modal-ux-content h4', 3],
  ['.modal-ux-content h6', 4],
  ['.webhooks-container h4', 3],
  ['.webhooks-container h5', 4],
].map(([selector, level]) => [selector, 'aria-level', () => level]);
const operationOf = (element) => element.closest('.opblock')?.querySelector('[data-path]')?.dataset.path ?? '';
const missing = [
  ...levels,
  ['.close-modal', 'aria-label', () => 'Close'],
  // A name for the ear begins with the text that is seen.
  ['.auth-btn-wrapper .auth[aria-label]', 'aria-label', (button) => `${button.textContent}: ${button.ariaLabel}`],
  ['textarea:not([aria-label])', 'aria-label', () => 'Body of the request'],
  ['.examples-select-element', 'aria-label', () => 'Example'],
  ['.parameters select', 'aria-label', (field) => field.closest('tr')?.dataset.paramName ?? 'Value'],
  ['[role=region].responses-table', 'aria-label', (table) => `Responses of ${operationOf(table)}`],
  ['pre.microlight', 'tabindex', () => 0],
];
const mended = new WeakMap();
const mend = () => {
  for (const [selector, name, textFor] of missing)
    for (const element of document.querySelectorAll(`#reference :is(${selector})`)) {
      // The viewer may put its own value back when it draws the element again.
      if (element.hasAttribute(name) && mended.get(element) === element.getAttribute(name)) continue;
      element.setAttribute(name, textFor(element));
      mended.set(element, element.getAttribute(name));
    }
};
let isMending = false;
new MutationObserver(() => {
  if (isMending) return;
  isMending = true;
  requestAnimationFrame(() => {
    isMending = false;
    mend();
  });
}).observe(document.querySelector('#reference'), { childList: true, subtree: true });
const show = (spec) =>
  SwaggerUIBundle({
    spec,
    dom_id: '#reference',
    deepLinking: true,
    plugins: [hideCredentials, plainPaths, frameLayout],
    layout: 'FrameLayout',
    docExpansion: 'list',
    defaultModelsExpandDepth: -1,
    displayRequestDuration: true,
    supportedSubmitMethods: ['get', 'post'],
    persistAuthorization: false,
    validatorUrl: null,
    requestInterceptor: (request) => {
      if (new URL(request.url, location.href).origin !== location.origin) throw new Error('Not this server');
      request.credentials = 'omit';
      return request;
    },
  });
fetch('/api/openapi.json')
  .then((response) => response.json())
  .then((document) => show(here(document)))
  .catch(() => {
    document.querySelector('#reference').textContent = 'The reference could not be read. Reload the page.';
  });
