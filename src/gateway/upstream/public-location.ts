/**
 * Pure: rewrites addresses of an upstream in its answers to the public address. An upstream that builds a Location from the
 * Host that it gets names an internal address, which callers cannot reach.
 */

/** `value`: of a Location or Content-Location field. Returned unchanged when it names no address of the upstream. */
export type ToPublicLocation = (value: string) => string;

/** Only a scheme or two slashes name a host; parsers of URLs accept backslashes as slashes. */
const namesHost = /^\s*(?:[a-z][a-z0-9+.-]*:|[/\\]{2})/i;

const charactersMax = 16 * 1024;

/** `addresses`: origins of the upstream. `origin`: the public address. */
export const createPublicLocation = (addresses: readonly string[], origin: string): ToPublicLocation => {
  const own = new Set(addresses.map((address) => hostOf(new URL(address))));
  const base = addresses[0];
  return (value) => {
    if (!namesHost.test(value) || value.length > charactersMax || !URL.canParse(value, base)) return value;
    const url = new URL(value, base);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') return value;
    return own.has(hostOf(url)) ? origin + url.pathname + url.search + url.hash : value;
  };
};

/** Host and port in normal form. The scheme is ignored, since a proxy in between may have changed it. */
const hostOf = ({ protocol, hostname, port }: URL): string =>
  `${hostname.replace(/\.$/, '')}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
