/**
 * Pure: addresses of an upstream in its answers, as its callers know them. An upstream that builds a Location from the Host
 * that it sees names an inner address, which callers cannot reach and need not know.
 */

/** `value`: of a Location or Content-Location field. Whatever names no address of the upstream comes back unchanged. */
export type ToPublicLocation = (value: string) => string;

/** Only these name a host: a scheme in front, or two slashes, which readers of URLs also take in the other direction. */
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

/** Name and port, whichever way they are written; the scheme may be one that a proxy in between has put there. */
const hostOf = ({ protocol, hostname, port }: URL): string =>
  `${hostname.replace(/\.$/, '')}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
