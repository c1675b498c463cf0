/**
 * Pure: request fields in which a proxy tells a service who calls, from where, or which request is meant. Sent by a caller
 * they are claims, and a service that was installed behind another proxy may believe them, so they go on only where the
 * route table passes them on (`upstreams.NAME.passHeaders`).
 */

const names: ReadonlySet<string> = new Set([
  // Who calls, as authenticating proxies and old servers say it.
  'remote-user',
  'remote-addr',
  'remote-host',
  'remote-email',
  'remote-groups',
  'remote-name',
  'x-authenticated-user',
  'x-user',
  'x-user-id',
  'x-user-email',
  'x-username',
  // Certificates of callers (RFC 9440 and older names).
  'client-cert',
  'client-cert-chain',
  'x-ssl-cert',
  'x-client-cert',
  'x-client-dn',
  'x-client-verify',
  // Where the caller is.
  'forwarded',
  'client-ip',
  'x-client-ip',
  'x-real-ip',
  'x-real-port',
  'x-cluster-client-ip',
  'x-proxyuser-ip',
  'x-remote-ip',
  'true-client-ip',
  'fastly-client-ip',
  'x-azure-clientip',
  'x-azure-socketip',
  // Which request is meant: another target, method or host than the one that was judged here.
  'x-rewrite-url',
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
  'x-host',
  'x-http-host-override',
  // CGI programs find it as HTTP_PROXY, which many libraries take for the proxy to use.
  'proxy',
]);

const families =
  /^(?:x-(?:forwarded|original|auth-request|remote|webauth|ssl-client|envoy|goog-authenticated-user|goog-iap|amzn-oidc|ms-client-principal|pomerium)|cf|ssl-client|remote-user)-/;

/** Other fields that are named whole and begin as a family does. */
const familyRoots: ReadonlySet<string> = new Set(['x-ms-client-principal', 'x-forwarded', 'x-appengine-user-ip']);

/** Their values are the gateway's own, whatever the route table says. */
const own: ReadonlySet<string> = new Set(['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto']);

/** `name`: in lower case, `_` written as `-`. */
export const isClaimedHeader = (name: string): boolean => {
  switch (name.charCodeAt(0)) {
    case 99: // c
    case 102: // f
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

/** A claim that the operator may pass on to an upstream that is meant to hear it. */
export const mayBePassed = (name: string): boolean => isClaimedHeader(name) && !own.has(name);
