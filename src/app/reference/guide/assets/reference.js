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
const show = (spec) =>
  SwaggerUIBundle({
    spec,
    dom_id: '#reference',
    deepLinking: true,
    plugins: [hideCredentials],
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
