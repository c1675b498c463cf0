/**
 * Pure: the networks that a credential may be used from, in CIDR notation (RFC 4632, RFC 4291 section 2.3). An IPv4-mapped
 * address (`::ffff:192.0.2.1`) is the IPv4 address, since a socket for both families shows IPv4 peers in that form.
 */
import { BlockList, isIPv4, isIPv6, SocketAddress } from 'node:net';
import { type FaultDetail, validationFault } from '#src/contract/fault.ts';

export type AddressList = {
  /** `address`: as `plainAddress` returns it. */
  has(address: string): boolean;
};

/** Networks of one credential. */
const networksMax = 64;

/** The canonical text of an address without its zone; undefined for any other text. */
export const plainAddress = (text: string): string | undefined => {
  if (isIPv4(text)) return text;
  const address = text.split('%', 1)[0] ?? '';
  if (!isIPv6(address)) return undefined;
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address;
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(canonical)?.[1] ?? canonical;
};

/** `networks`: as `readNetworks` returns them. */
export const createAddressList = (networks: readonly string[]): AddressList => {
  // One list per family: a single one would take an IPv4 address for a member of ::/0.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const { family, width } = formOf(address);
    lists[family].addSubnet(address, bits === undefined ? width : Number(bits), family);
  }
  // A client calls from the same address again and again, and a look-up in the list costs more than a comparison.
  let last = '';
  let lastFound = false;
  return {
    has: (address) => {
      if (address !== last) {
        const { family } = formOf(address);
        lastFound = lists[family].check(address, family);
        last = address;
      }
      return lastFound;
    },
  };
};

/** Canonical and each once. Throws VALIDATION_ERROR that names every wrong entry. */
export const readNetworks = (texts: readonly string[]): string[] => {
  const errors: FaultDetail[] = [];
  const found = new Set<string>();
  for (const text of texts) {
    const read = readNetwork(text.trim());
    if ('network' in read) found.add(read.network);
    else errors.push({ pointer: 'allow_ip', code: 'FORMAT', message: `${text}: ${read.problem}` });
  }
  if (found.size === 0 && errors.length === 0)
    errors.push({ pointer: 'allow_ip', code: 'LENGTH', message: 'must name at least one address or network' });
  if (found.size > networksMax)
    errors.push({ pointer: 'allow_ip', code: 'LENGTH', message: `may have at most ${networksMax} entries` });
  if (errors.length > 0) throw validationFault(errors);
  return [...found];
};

type Form = { family: 'ipv4' | 'ipv6'; width: 32 | 128 };

const formOf = (address: string): Form =>
  address.includes(':') ? { family: 'ipv6', width: 128 } : { family: 'ipv4', width: 32 };

const mappedBits = 96;

const readNetwork = (text: string): { network: string } | { problem: string } => {
  const [given = '', bits, ...more] = text.split('/');
  const address = given.includes('%') ? undefined : plainAddress(given);
  if (address === undefined || more.length > 0)
    return { problem: 'must be an IPv4 or IPv6 address or a network such as 192.0.2.0/24 or 2001:db8::/32' };
  const { width } = formOf(address);
  const offset = given.includes(':') && width === 32 ? mappedBits : 0;
  const prefix = bits === undefined ? width : /^(?:0|[1-9]\d{0,2})$/.test(bits) ? Number(bits) - offset : Number.NaN;
  if (!(prefix <= width)) return { problem: `must have at most ${width + offset} bits after the slash` };
  if (prefix < 0) return { problem: `needs at least ${mappedBits} bits, or the form of an IPv4 network` };
  const network = networkOf(address, prefix);
  if (network !== address) return { problem: `has bits beyond its prefix; write ${network}/${prefix}` };
  return { network: prefix === width ? address : `${address}/${prefix}` };
};

/** The address with every bit beyond the prefix cleared. */
const networkOf = (address: string, prefix: number): string => {
  const { family, width } = formOf(address);
  const size = family === 'ipv4' ? 8 : 16;
  const parts = family === 'ipv4' ? address.split('.').map(Number) : groupsOf(address);
  const whole = parts.reduce((sum, part) => (sum << BigInt(size)) | BigInt(part), 0n);
  const rest = BigInt(width - prefix);
  const cleared = (whole >> rest) << rest;
  const kept = parts.map((_, i) => (cleared >> BigInt(size * (parts.length - 1 - i))) & ((1n << BigInt(size)) - 1n));
  if (family === 'ipv4') return kept.join('.');
  const text = kept.map((group) => group.toString(16)).join(':');
  return new SocketAddress({ address: text, family }).address;
};

/** The eight groups of a canonical IPv6 address. */
const groupsOf = (address: string): number[] => {
  const [head = '', tail] = address.split('::');
  const [before, after] = [readGroups(head), readGroups(tail ?? '')];
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
};

/** The last group may be an IPv4 address, which stands for two. */
const readGroups = (text: string): number[] =>
  text === ''
    ? []
    : text.split(':').flatMap((group) => {
        if (!group.includes('.')) return [Number.parseInt(group, 16)];
        const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
        return [a * 256 + b, c * 256 + d];
      });
