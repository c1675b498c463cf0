/** The page of /docs: a viewer from npm (swagger-ui-dist) that reads /api/openapi.json, with light, dark and narrow screens. */
export const viewerPage = `<!doctype html>
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
<nav aria-label="Documents"><a href="/docs/webhooks">Webhooks</a> <a href="/docs/errors">Error codes</a> <a href="/api/openapi.json">OpenAPI document</a></nav>
<main id="reference"><p>Reading the reference …</p></main>
<noscript>This page needs JavaScript; the <a href="/api/openapi.json">OpenAPI document</a> and the
<a href="/docs/errors">error codes</a> do not.</noscript>
</body>
</html>
`;

/** To be read only: no credentials are asked for in a page, and no address of anybody else is called. */
export const viewerScript = `const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
SwaggerUIBundle({
  url: '/api/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: -1,
  displayRequestDuration: false,
  supportedSubmitMethods: [],
  validatorUrl: null,
});
`;

export const viewerStyle = `:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { margin: 0; overflow-wrap: anywhere }
nav { display: flex; gap: 1.5rem; padding: .75rem 1.25rem }
nav a, noscript a { color: LinkText }
.swagger-ui .auth-wrapper, .swagger-ui .authorization__btn, .swagger-ui .servers > label { display: none }
:focus-visible { outline: 2px solid; outline-offset: 2px }
@media (max-width: 40rem) {
  .swagger-ui .opblock .opblock-summary { flex-wrap: wrap }
  .swagger-ui .opblock-summary-path, .swagger-ui .opblock-summary-description { overflow-wrap: anywhere; max-width: 100% }
  .swagger-ui table, .swagger-ui .parameters-container, .swagger-ui .responses-inner { display: block; max-width: 100%; overflow-x: auto }
  .swagger-ui .wrapper { padding: 0 .5rem }
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
