/**
 * Pure: reads which request another proxy asks about at /auth/check. The headers are claims, so everything ambiguous is
 * refused: a header sent twice, headers of two kinds of proxies at once, a target that is no path.
 */
export type OriginalRequest = {
  method: string;
  target: string;
  host: string | undefined;
  /** False for nginx, which makes 500 of every refusal but 401 and 403. */
  takesEveryStatus: boolean;
  /** The proxy refused this request already and wants the answer for its caller, so it cannot use a yes any more. */
  isRefused: boolean;
};

/** `undefined`: no request was named, or more than one. */
type ReadOriginalRequest = (check: {
  method: string;
  target: string;
  path: string;
  search: string;
  rawHeaders: readonly string[];
}) => OriginalRequest | undefined;

/** Names of the header fields with the method and the target. */
type Pair = readonly [method: string, target: string];

/** As configured in config/nginx-auth-request.conf. */
const ofNginx: Pair = ['x-original-method', 'x-original-uri'];
/** Traefik ForwardAuth, Caddy forward_auth, config/haproxy-auth.lua, and nginx when it asks for the text of a refusal. */
const ofOthers: Pair = ['x-forwarded-method', 'x-forwarded-uri'];

export const authCheckPath = '/auth/check';

export const createReadOriginalRequest = ({ urlBytesMax }: { urlBytesMax: number }): ReadOriginalRequest => {
  const checked = (method: string, target: string, rawHeaders: readonly string[]): OriginalRequest | undefined => {
    // Where the other proxy names no host, it is that of the check, as Envoy and nginx pass it on.
    const named = valuesOf(rawHeaders, 'x-forwarded-host');
    const hosts = named.length > 0 ? named : valuesOf(rawHeaders, 'host');
    // No methods are listed here, so that the route table decides: PROPFIND is 405 as it is without another proxy.
    return /^[A-Z][A-Z-]{0,19}$/.test(method) &&
      /^\/[\x21\x22\x24-\x7e]*$/.test(target) &&
      target.length <= urlBytesMax &&
      hosts.length <= 1
      ? {
          method,
          target,
          host: hosts[0],
          takesEveryStatus: valuesOf(rawHeaders, ofNginx[0]).length === 0,
          isRefused: valuesOf(rawHeaders, 'x-original-refused').length > 0,
        }
      : undefined;
  };
  return ({ method, target: asked, path, search, rawHeaders }) => {
    const valuesOfPair = (pair: Pair) => pair.map((name) => valuesOf(rawHeaders, name));
    const isUsed = (pair: Pair): boolean => valuesOfPair(pair).some((values) => values.length > 0);
    if (path !== authCheckPath) {
      // Envoy puts its prefix before the path and keeps the method.
      return isUsed(ofNginx) || isUsed(ofOthers)
        ? undefined
        : checked(method, asked.slice(authCheckPath.length), rawHeaders);
    }
    if (isUsed(ofNginx) === isUsed(ofOthers)) return undefined;
    const [methods = [], targets = []] = valuesOfPair(isUsed(ofNginx) ? ofNginx : ofOthers);
    const [originalMethod, target] = [methods[0], targets[0]];
    if (methods.length !== 1 || targets.length !== 1 || originalMethod === undefined || target === undefined)
      return undefined;
    // Caddy leaves the query of the request at the address of the check. A query that differs would be a second request.
    const isQueryOfTarget = isUsed(ofOthers) && asked.slice(path.length) === queryOf(target);
    return (search === '' && asked === path) || isQueryOfTarget
      ? checked(originalMethod, target, rawHeaders)
      : undefined;
  };
};

/** With its question mark; empty when there is none. */
const queryOf = (target: string): string => (target.includes('?') ? target.slice(target.indexOf('?')) : '');

const valuesOf = (rawHeaders: readonly string[], name: string): string[] => {
  const values: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.length === name.length && rawHeaders[i]?.toLowerCase() === name)
      values.push(rawHeaders[i + 1] ?? '');
  }
  return values;
};
