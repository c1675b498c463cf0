/** /docs/reference: a viewer from npm (swagger-ui-dist) that reads /api/openapi.json. Its script is `assets/reference.js`. */

export const referenceHead = `<link rel="stylesheet" href="/docs/assets/swagger-ui.css">
<link rel="stylesheet" href="/docs/assets/reference.css">
<script src="/docs/assets/swagger-ui-bundle.js" defer></script>
<script src="/docs/assets/reference.js" defer></script>
`;

export const referenceBody = `<h1 class="reference-title">Reference</h1>
<p>Try an operation: choose <em>Authorize</em>, enter a credential, and send. The credential goes to this server only, stays in the memory of this page, and
ends with it. The same as documents: <a href="/api/openapi.json">OpenAPI</a>, <a href="/docs/asyncapi.json">AsyncAPI</a>. As
collections: <a href="/docs/postman.json">Postman</a>, <a href="/docs/bruno.json">Bruno</a>.</p>
<div id="reference"><p>Reading the reference …</p></div>
<noscript><p>The viewer needs JavaScript; the <a href="/api/openapi.json">OpenAPI document</a>, the guide and the
<a href="/docs/errors">error codes</a> do not.</p></noscript>`;
