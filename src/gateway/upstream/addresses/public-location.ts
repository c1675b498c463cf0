/**
 * Pure: rewrites addresses of an upstream in its answers to the public address. An upstream that builds a Location from the
 * Host that it gets names an internal address, which callers cannot reach.
 */
import type { Route } from '../../model/route.ts';

type PathChange = Pick<Route, 'stripPrefix' | 'addPrefix'>;

/**
 * `value`: of a Location or Content-Location field. Returned unchanged when it names neither an address of the upstream nor a
 * path that `route` changes. `host`: under which the caller reached the route, where that is not the public address.
 */
export type ToPublicLocation = (value: string, route?: PathChange, host?: string) => string;

/** Only a scheme or two slashes name a host; parsers of URLs accept backslashes as slashes, and remove tabs. */
const namesHost = /^\s*(?:[a-z][a-z0-9+.-]*:|[/\\]\t*[/\\])/i;

const charactersMax = 16 * 1024;

/**
 * `addresses`: origins of the upstream. `origin`: the public address. `knowsHost`: the upstream gets the host of the caller, so
 * it names that one in its answers, with a path of its own.
 */
export const createPublicLocation = (
  addresses: readonly string[],
  origin: string,
  knowsHost = false,
): ToPublicLocation => {
  const own = new Set(addresses.map((address) => hostOf(new URL(address))));
  const base = addresses[0];
  const { protocol } = new URL(origin);
  return (value, route, host) => {
    const publicOrigin = host === undefined ? origin : `${protocol}//${host}`;
    if (value.length > charactersMax) return value;
    if (!namesHost.test(value)) {
      const path = toPublicPath(value, route);
      // Without its prefix a path of the service may begin with two slashes, which alone would name a foreign host.
      return namesHost.test(path) ? publicOrigin + path : path;
    }
    if (!URL.canParse(value, base)) return value;
    const url = new URL(value, base);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') return value;
    const isOwn = own.has(hostOf(url)) || (knowsHost && hostOf(url) === hostOf(new URL(publicOrigin)));
    return isOwn ? publicOrigin + toPublicPath(url.pathname + url.search + url.hash, route) : value;
  };
};

/**
 * The public form of a path of the upstream. A path outside `addPrefix` has none. One that already begins with `stripPrefix`
 * comes from an upstream that reads X-Forwarded-Prefix.
 */
const toPublicPath = (value: string, { stripPrefix = '', addPrefix = '' }: PathChange = {}): string => {
  if (stripPrefix === addPrefix || !value.startsWith('/') || !isBelow(value, addPrefix)) return value;
  if (addPrefix === '' && isBelow(value, stripPrefix)) return value;
  const below = value.slice(addPrefix.length);
  return stripPrefix + (stripPrefix === '' && !below.startsWith('/') ? `/${below}` : below);
};

const isBelow = (value: string, prefix: string): boolean =>
  value.startsWith(prefix) && (prefix === '' || ['/', '?', '#', undefined].includes(value[prefix.length]));

/** Host and port in normal form. The scheme is ignored, since a proxy in between may have changed it, and so are its ports. */
const hostOf = ({ hostname, port }: URL): string =>
  `${hostname.replace(/\.$/, '')}:${port === '80' || port === '443' ? '' : port}`;
