/**
 * How Redis is reached: one server, the primary that Sentinels name, or a cluster. Without an import, because the settings
 * check the text of an address before anything is connected.
 */

/** `redis+sentinel://[USER[:PASSWORD]@]HOST[:PORT][,…]/NAME[/DB]`; rediss for TLS. The credentials are those of the primary. */
const sentinelForm = /^rediss?\+sentinel:\/\/(?:([^@/]*)@)?([^@/?#]+)\/([\w.-]+)(?:\/(\d{1,4}))?$/;

/** `redis+cluster://[USER[:PASSWORD]@]HOST[:PORT][,…]`; rediss for TLS. The credentials are those of every node. */
const clusterForm = /^rediss?\+cluster:\/\/(?:([^@/]*)@)?([^@/?#]+)(?:\/0?)?$/;

type Host = { host: string; port: number };

type Credentials = { username?: string; password?: string };

export type SentinelAddress = Credentials & {
  sentinels: Host[];
  name: string;
  db?: number;
};

/** `nodes`: those that are asked first; they name all others. */
type ClusterAddress = Credentials & { nodes: Host[] };

const sentinelPort = 26_379;
const nodePort = 6_379;

const isSentinel = (url: string): boolean => /^rediss?\+sentinel:/.test(url);

export const isCluster = (url: string): boolean => /^rediss?\+cluster:/.test(url);

/** `rediss`, `rediss+sentinel` and `rediss+cluster` do. */
export const speaksTls = (url: string): boolean => url.startsWith('rediss');

/** Undefined: the text is no such address. */
export const readSentinelAddress = (url: string): SentinelAddress | undefined => {
  const [, user = '', hosts = '', name = '', db] = sentinelForm.exec(url) ?? [];
  const sentinels = readHosts(hosts, sentinelPort);
  const credentials = readUser(user);
  if (name === '' || sentinels === undefined || credentials === undefined) return undefined;
  return { sentinels, name, ...credentials, ...(db !== undefined && { db: Number(db) }) };
};

/** Undefined: the text is no such address. */
export const readClusterAddress = (url: string): ClusterAddress | undefined => {
  const [, user = '', hosts = ''] = clusterForm.exec(url) ?? [];
  const nodes = readHosts(hosts, nodePort);
  const credentials = readUser(user);
  return nodes === undefined || credentials === undefined ? undefined : { nodes, ...credentials };
};

/** Undefined: one of them is none. */
const readHosts = (text: string, defaultPort: number): Host[] | undefined => {
  const all = text.split(',').map((one) => readHost(one, defaultPort));
  return all.every((one) => one !== undefined) ? all : undefined;
};

/** IPv6 addresses in brackets. */
const readHost = (text: string, defaultPort: number): Host | undefined => {
  const [, six, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = six ?? plain;
  const port = digits === undefined ? defaultPort : Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
};

/** Percent-encoded, as in every URL. Undefined: it cannot be decoded. */
const readUser = (text: string): Credentials | undefined => {
  if (text === '') return {};
  const colon = text.indexOf(':');
  try {
    const username = decodeURIComponent(colon === -1 ? text : text.slice(0, colon));
    const password = colon === -1 ? '' : decodeURIComponent(text.slice(colon + 1));
    return { ...(username !== '' && { username }), ...(password !== '' && { password }) };
  } catch {
    return undefined;
  }
};

/** Undefined: the address can be used. */
export const redisAddressProblem = (url: string): string | undefined => {
  if (/^rediss?:\/\//.test(url)) {
    const afterUser = url.slice(url.lastIndexOf('@') + 1).replace(/^\w+:\/\//, '');
    return /^[^/?#]*,/.test(afterUser)
      ? 'names several hosts: begin it with redis+sentinel:// or redis+cluster://'
      : undefined;
  }
  if (isCluster(url)) return clusterProblem(url);
  if (!isSentinel(url)) {
    return 'must begin with redis://, redis+sentinel:// or redis+cluster://, or for TLS with rediss instead of redis';
  }
  return readSentinelAddress(url) === undefined
    ? 'must have the form redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/NAME, where NAME is that of the primary'
    : undefined;
};

const clusterProblem = (url: string): string | undefined => {
  if (readClusterAddress(url) !== undefined) return undefined;
  return /\/0*[1-9]\d*$/.test(url)
    ? 'names a database, and a cluster has database 0 alone: leave the number out'
    : 'must have the form redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT';
};
