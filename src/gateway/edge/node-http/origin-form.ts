/** Targets of requests in absolute form, such as `http://api.example/a`: only a request to a proxy needs to have it. */
import type { IncomingMessage } from 'node:http';

const absoluteForm = /^https?:\/\/([^/?#]*)(.*)$/is;

/**
 * Writes such a target as its path and query, which a server must do (RFC 9112 section 3.2.2). A target that names another host
 * than the Host field stays as it is, and no operation has it: the field would have to be ignored, while a proxy in front may have
 * decided by it.
 */
export const useOriginForm = (request: Pick<IncomingMessage, 'url' | 'headers'>): void => {
  const { url = '', headers } = request;
  if (url.startsWith('/')) return;
  const [, host, rest = ''] = absoluteForm.exec(url) ?? [];
  if (host === undefined || host.toLowerCase() !== headers.host?.toLowerCase()) return;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
};
