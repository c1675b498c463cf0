/** The page of /docs: a viewer from npm (swagger-ui-dist) that reads /api/openapi.json, with light, dark and narrow screens. */

/** The page that explains a refusal, if the panel is enabled. */
const explainerPath = '/panel/explain';

export const viewerPage = ({ hasPanel }: { hasPanel: boolean }): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Orderpass: reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/swagger-ui.css">
<link rel="stylesheet" href="/docs/assets/reference.css">
<script src="/docs/assets/swagger-ui-bundle.js" defer></script>
<script src="/docs/assets/reference.js" defer></script>
</head>
<body>
<nav aria-label="Documents"><a href="/docs/webhooks">Webhooks</a> <a href="/docs/errors">Error codes</a> <a href="/docs/callers">Who calls</a> <a href="/docs/changelog">Changelog</a> <a href="/api/openapi.json">OpenAPI document</a> <a href="/docs/asyncapi.json">AsyncAPI document</a> <a href="/docs/postman.json">Postman collection</a> <a href="/docs/bruno.json">Bruno collection</a>${hasPanel ? ` <a href="${explainerPath}">Why was a request refused?</a> <a href="/panel">Panel</a>` : ''}</nav>
<main id="reference"><p>Reading the reference …</p></main>
<noscript>This page needs JavaScript; the <a href="/api/openapi.json">OpenAPI document</a> and the
<a href="/docs/errors">error codes</a> do not.</noscript>
</body>
</html>
`;

/**
 * A reader can try operations with a credential against this server. The credential stays in the memory of the page and is
 * sent to no other address. Requests carry no cookies, so that the credential alone decides.
 */
export const viewerScript = `const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
/** Examples and defaults of optional parameters are shown beside the fields: in the fields they would be sent. */
const forTrying = ({ parameters = [] }) => {
  for (const parameter of parameters) {
    if (parameter.required === true) continue;
    const { example, description, schema = {} } = parameter;
    const shown = { Default: schema.default, Example: example };
    const texts = Object.entries(shown).flatMap(([name, value]) => (value === undefined ? [] : name + ': ' + JSON.stringify(value)));
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
const show = (spec) =>
  SwaggerUIBundle({
    spec,
    dom_id: '#reference',
    deepLinking: true,
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
`;

export const viewerStyle = `:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { margin: 0; overflow-wrap: anywhere }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; padding: .75rem 1.25rem }
nav a, noscript a { color: LinkText }
.swagger-ui .servers > label, .swagger-ui .servers-title { display: none }
:focus-visible { outline: 2px solid; outline-offset: 2px }
@media (max-width: 40rem) {
  .swagger-ui .opblock .opblock-summary { flex-wrap: wrap }
  .swagger-ui .opblock-summary-path, .swagger-ui .opblock-summary-description { overflow-wrap: anywhere; max-width: 100% }
  .swagger-ui table, .swagger-ui .parameters-container, .swagger-ui .responses-inner { display: block; max-width: 100%; overflow-x: auto }
  .swagger-ui .wrapper { padding: 0 .5rem }
  .swagger-ui .dialog-ux .modal-ux { min-width: 0; width: calc(100vw - 1rem) }
  .swagger-ui .dialog-ux .modal-ux-content { padding: .5rem 1rem }
  .swagger-ui .auth-container input { min-width: 0; width: 100% }
}
`;

export const errorsStyle = `:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere }
section { border-top: 1px solid; padding: .25rem 0 .75rem }
section:target { border-inline-start: .35rem solid; padding-inline-start: .75rem }
h3 { margin: .5rem 0 0 }
h3 a { color: inherit; font-family: ui-monospace, monospace; text-decoration-thickness: 1px }
p { margin: .25rem 0 }
ul { columns: 16rem; padding-inline-start: 1.25rem }
dt { font-family: ui-monospace, monospace }
pre { overflow-x: auto; overflow-wrap: normal; padding: .5rem; border: 1px solid }
:focus-visible { outline: 3px solid; outline-offset: 2px }
`;
