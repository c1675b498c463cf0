/** /docs/callers: how a service behind the gateway verifies who calls (interface 17). Its code is the files of `snippets/caller`. */
import { code, codeSection } from './code-section.ts';

const languages = [
  ['node', 'Node, with jose', 'caller.mjs'],
  ['python', 'Python, with PyJWT', 'caller.py'],
  ['go', 'Go', 'caller.go'],
  ['java', 'Java', 'Caller.java'],
] as const;

const policy = `"upstreams": {
  "pos": {
    "addresses": ["http://10.0.0.5:8081"],
    "identity": { "kind": "jwt", "header": "authorization", "audience": "https://pos.example" }
  }
}`;

const claims = `{
  "iss": "https://api.example.com", "aud": "https://pos.example", "sub": "opc_…", "client_id": "opc_…",
  "kind": "bearer", "scope": "read:orders", "tenants": ["rst_01"], "jti": "…", "iat": 1772362800, "exp": 1772362860
}`;

export const callersPage = (): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Orderpass: who calls</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/errors.css">
</head>
<body>
<nav aria-label="Documents"><a href="/docs">Reference</a> <a href="/docs/webhooks">Webhooks</a> <a href="/docs/errors">Error codes</a> <a href="/docs/changelog">Changelog</a></nav>
<main>
<h1>Who calls: for services behind the gateway</h1>
<p>The gateway checks the credential and the scopes of a request, removes the credential, and states the caller in the form that the
service's entry in the route table names as <code>identity</code>:</p>
<ul>
<li><code>jwt</code>: a token in a header field of your choice, signed with ES256. Any library verifies it with the keys at
<a href="/api/oauth/jwks">/api/oauth/jwks</a>. It lives 60 s at most.</li>
<li><code>headers</code>: <code>X-Orderpass-Kind</code>, <code>-Id</code>, <code>-Client</code>, <code>-Tenants</code> and <code>-Scopes</code>,
for a service that nothing but the gateway can reach.</li>
<li><code>assertion</code> (the default, which the ordering core needs): a statement for exactly one method and target, signed with
HS256 and a secret of this service (<code>npm run -s cli -- upstream key NAME</code>). For a service of your own choose
<code>jwt</code>: the code below verifies it.</li>
<li><code>none</code>: nothing.</li>
</ul>
<p>What a caller sends in these fields never reaches a service.</p>
${code(policy)}
<h2>The claims of a token</h2>
${code(claims)}
<p><code>kind</code> is <code>api_key</code>, <code>api_client</code> or <code>bearer</code>; an API key has no <code>client_id</code>. A caller of more than 50 tenants has
<code>tenants_total</code> in place of <code>tenants</code>: do not take a missing list for all tenants. A service checks the algorithm, the
type <code>orderpass-identity+jwt</code>, the issuer, its own audience and the time, in this way:</p>
<h2>Verification</h2>
${languages.map(([id, name, file]) => codeSection({ id, name, file: `caller/${file}` })).join('')}
<h2>nginx</h2>
<p>nginx verifies no token without a module. Let it accept connections only with the client certificate of the gateway
(<code>tls.certFile</code> of the upstream), and read the fields of <code>"identity": "headers"</code>:</p>
${codeSection({ id: 'nginx', name: 'nginx', file: 'caller/nginx.conf' })}
</main>
</body>
</html>
`;
