/**
 * How Redis is reached: one server, or the primary that Sentinels name. Without an import, because the settings check the text
 * of an address before anything is connected.
 */

/** `redis+sentinel://[USER[:PASSWORD]@]HOST[:PORT][,…]/NAME[/DB]`; rediss for TLS. The credentials are those of the primary. */
const sentinelForm = /^rediss?\+sentinel:\/\/(?:([^@/]*)@)?([^@/?#]+)\/([\w.-]+)(?:\/(\d{1,4}))?$/;

type Host = { host: string; port: number };

export type SentinelAddress = {
  sentinels: Host[];
  name: string;
  username?: string;
  password?: string;
  db?: number;
};

const sentinelPort = 26_379;

const isSentinel = (url: string): boolean => /^rediss?\+sentinel:/.test(url);

/** `rediss` and `rediss+sentinel` do. */
export const speaksTls = (url: string): boolean => url.startsWith('rediss');

/** Undefined: the text is no such address. */
export const readSentinelAddress = (url: string): SentinelAddress | undefined => {
  const [, user, hosts = '', name = '', db] = sentinelForm.exec(url) ?? [];
  const sentinels = hosts.split(',').flatMap((one) => readHost(one) ?? []);
  if (name === '' || sentinels.length !== hosts.split(',').length) return undefined;
  const credentials = readUser(user ?? '');
  if (credentials === undefined) return undefined;
  return { sentinels, name, ...credentials, ...(db !== undefined && { db: Number(db) }) };
};

/** IPv6 addresses in brackets. */
const readHost = (text: string): Host | undefined => {
  const [, six, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = six ?? plain;
  const port = digits === undefined ? sentinelPort : Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
};

/** Percent-encoded, as in every URL. Undefined: it cannot be decoded. */
const readUser = (text: string): Pick<SentinelAddress, 'username' | 'password'> | undefined => {
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
  if (/^rediss?:\/\//.test(url)) return undefined;
  if (!isSentinel(url)) return 'must begin with redis://, rediss://, redis+sentinel:// or rediss+sentinel://';
  return readSentinelAddress(url) === undefined
    ? 'must have the form redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/NAME, where NAME is that of the primary'
    : undefined;
};
