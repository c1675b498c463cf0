/**
 * Which addresses webhooks may go to (interface 12.4): https to public addresses. The address is checked when an
 * endpoint is made and again at each connection, which then goes to the checked address. Otherwise a name that resolves
 * to a public address today and to the metadata service tomorrow would open the private network through the worker.
 */
import { BlockList, isIP } from 'node:net';
import { isRefusedPort } from './refused-ports.ts';

export type TargetRules = {
  /** Allows http, loopback and private addresses as well. */
  allowPrivate: boolean;
  /** Origins that are always allowed, such as the receiver of the demo. */
  allowedOrigins: readonly string[];
};

/** Resolves all addresses of a name. `signal` is aborted when the caller no longer waits. */
export type Resolve = (hostname: string, signal?: AbortSignal) => Promise<readonly string[]>;

export type TargetVerdict =
  | { kind: 'allowed'; addresses: readonly [string, ...string[]] }
  | { kind: 'refused'; reason: string }
  | { kind: 'unresolved'; reason: string };

const urlCharactersMax = 2048;

const blocked = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8],
  ['100.64.0.0', 10], // shared address space of carriers
  ['127.0.0.0', 8],
  ['168.63.129.16', 32], // platform services of a cloud, not reachable from the internet
  ['169.254.0.0', 16], // link-local, cloud metadata
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16],
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
] as const) {
  blocked.addSubnet(network, prefix, 'ipv4');
}

/** Only global unicast is public in IPv6. These parts of it carry an IPv4 address or are not routed. */
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');
const notGlobal = new BlockList();
for (const [network, prefix] of [
  ['2001::', 23], // IETF protocols, Teredo
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4
  ['3fff::', 20], // documentation
] as const) {
  notGlobal.addSubnet(network, prefix, 'ipv6');
}

/** True for addresses that are reachable from the internet anyway. */
export const isPublicAddress = (address: string): boolean => {
  const version = isIP(address);
  if (version === 4) return !blocked.check(address, 'ipv4');
  if (version !== 6 || address.includes('%')) return false;
  // Mapped (::ffff:a.b.c.d), NAT64 and all other addresses outside 2000::/3 are refused.
  return globalUnicast.check(address, 'ipv6') && !notGlobal.check(address, 'ipv6');
};

/** Returns what is wrong with the URL as written, undefined when nothing is. */
export const urlProblem = (text: string, rules: TargetRules): string | undefined => {
  if (text.length > urlCharactersMax) return `must have at most ${urlCharactersMax} characters`;
  if (!URL.canParse(text)) return 'must be an absolute URL';
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return 'must not hold credentials';
  if (url.hash !== '' || text.includes('#')) return 'must not hold a fragment';
  if (rules.allowedOrigins.includes(url.origin)) return undefined;
  if (isRefusedPort(url.port)) return `must not name port ${url.port}, which is one of another protocol`;
  if (url.protocol === 'https:') return undefined;
  if (url.protocol === 'http:' && rules.allowPrivate) return undefined;
  return 'must begin with https://';
};

/** The host as a resolver takes it: without the brackets of an IPv6 address. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

/** Resolves and checks the host of a URL without a `urlProblem`. The connection must go to one of `addresses`. */
export const checkTarget = async (
  url: URL,
  rules: TargetRules,
  resolve: Resolve,
  signal?: AbortSignal,
): Promise<TargetVerdict> => {
  const host = hostOf(url);
  const [first, ...rest] = isIP(host) === 0 ? await resolve(host, signal).catch(() => []) : [host];
  if (first === undefined) return { kind: 'unresolved', reason: `${host} has no address` };
  const addresses = [first, ...rest] as const;
  if (rules.allowPrivate || rules.allowedOrigins.includes(url.origin)) return { kind: 'allowed', addresses };
  // One private address among several is enough to refuse: the caller cannot know which one a connection would use.
  if (addresses.every(isPublicAddress)) return { kind: 'allowed', addresses };
  // The address is not named: the answers would map the names of the private network.
  return {
    kind: 'refused',
    reason: isIP(host) === 0 ? `${host} leads to a private address` : `${host} is a private address`,
  };
};
