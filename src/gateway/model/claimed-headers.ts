/**
 * Pure: request fields in which a proxy names the caller, its address or the original request. From a caller they are
 * unproven claims, and a service that expects another proxy may trust them. So they are dropped, and cookies with them,
 * unless the route table passes them on (`upstreams.NAME.passHeaders`).
 */

const names: ReadonlySet<string> = new Set([
  // The caller, as authenticating proxies and old servers name it.
  'remote-user',
  'remote-addr',
  'remote-host',
  'remote-email',
  'remote-groups',
  'remote-name',
  'x-userinfo',
  'x-id-token',
  'x-apigateway-api-userinfo',
  'x-endpoint-api-userinfo',
  'x-user',
  'x-user-id',
  'x-user-email',
  'x-user-name',
  'x-user-groups',
  'x-user-role',
  'x-user-roles',
  'x-username',
  'x-email',
  'x-groups',
  // Certificates of callers (RFC 9440 and older names).
  'client-cert',
  'client-cert-chain',
  'x-ssl-cert',
  'x-client-cert',
  'x-client-dn',
  'x-client-verify',
  'x-arr-clientcert',
  // The address of the caller.
  'forwarded',
  'forwarded-for',
  'client-ip',
  'x-client-ip',
  'x-real-ip',
  'x-real-port',
  'x-cluster-client-ip',
  'x-proxyuser-ip',
  'x-remote-ip',
  'true-client-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'do-connecting-ip',
  'incap-client-ip',
  'x-sucuri-clientip',
  'x-nf-client-connection-ip',
  'x-vercel-forwarded-for',
  'x-vercel-proxied-for',
  'x-azure-clientip',
  'x-azure-socketip',
  // The original request: a target, method or host other than the one that was checked here.
  'x-rewrite-url',
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
  'x-host',
  'x-http-host-override',
  // Browsers send it unasked to every service behind this host, whichever of them set it.
  'cookie',
  // CGI programs get it as HTTP_PROXY, which many libraries take as the proxy to use.
  'proxy',
]);

const families =
  /^(?:x-(?:forwarded|original|auth-request|authenticated|anonymous|consumer|credential|remote|webauth|ssl-client|envoy|goog-authenticated-user|goog-iap|amzn-oidc|amzn-mtls|ms-client-principal|ms-token|pomerium|authentik|token-user|tls-client)|cf|ssl-client|remote-user|impersonate|oidc|tailscale)-/;

/** Other fields that are named whole and begin as a family does. */
const familyRoots: ReadonlySet<string> = new Set([
  'x-ms-client-principal',
  'x-forwarded',
  'x-appengine-user-ip',
  'x-token-subject',
]);

/** The gateway always sets these itself, so the route table cannot pass them on. */
export const ownForwardedFields: ReadonlySet<string> = new Set([
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-prefix',
]);

/** `name`: in lower case, with `-` in place of every other character that is no letter or digit. */
export const isClaimedHeader = (name: string): boolean => {
  switch (name.charCodeAt(0)) {
    case 99: // c
    case 100: // d
    case 102: // f
    case 105: // i
    case 111: // o
    case 112: // p
    case 114: // r
    case 115: // s
    case 116: // t
    case 120: // x
      return names.has(name) || familyRoots.has(name) || families.test(name);
    default:
      return false;
  }
};

/** A claim that the route table may pass on to an upstream. */
export const mayBePassed = (name: string): boolean => isClaimedHeader(name) && !ownForwardedFields.has(name);
