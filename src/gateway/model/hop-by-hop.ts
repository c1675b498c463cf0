/** Header fields that a proxy never passes on, because they belong to one connection. */

/** RFC 9110 section 7.6.1, and fields that older software treats the same way. */
export const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-authentication-info',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/** Names that only the gateway sets, and fields between proxies. The name is in lower case. */
export const reservedName = /^(x[-_]orderpass[-_]|proxy-)/;
