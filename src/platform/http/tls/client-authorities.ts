/**
 * The authorities of client certificates, for certificates that come in a header and not in a handshake. The file is looked at
 * when it is needed, at most once a second, so that new authorities count without a restart. A file that cannot be used leaves
 * the earlier ones.
 */
import { X509Certificate } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Logger } from '../../log.ts';
import { mayIssue } from './issuer-rules.ts';
import { readAuthorities } from './read-certificate.ts';

export type ClientAuthorities = {
  /**
   * One of the authorities has signed the certificate itself, or through authorities of the chain, and the certificate may be
   * used by clients. `chain`: each signed the one before it, the first one the certificate.
   */
  haveSigned(certificate: X509Certificate, nowMs: number, chain?: readonly X509Certificate[]): boolean;
};

const lookEveryMs = 1_000;
const clientAuthUsage = '1.3.6.1.5.5.7.3.2';

/** Throws when the file cannot be used. */
export const openClientAuthorities = (path: string, log: Logger): ClientAuthorities => {
  let current = load(path);
  let lookedMs = performance.now();
  let seen = versionOf(path);
  const refresh = (): void => {
    if (performance.now() - lookedMs < lookEveryMs) return;
    lookedMs = performance.now();
    const version = versionOf(path);
    if (version === seen) return;
    seen = version;
    try {
      current = load(path);
      log.warn({ path }, 'new authorities of client certificates are used');
    } catch (error) {
      log.error({ err: error }, 'the new authorities of client certificates are not used; the earlier ones count');
    }
  };
  return {
    haveSigned: (certificate, nowMs, chain = []) => {
      refresh();
      // Usages are optional (RFC 5280 section 4.2.1.12); a certificate that lists some must list that of clients.
      const usages = certificate.keyUsage as readonly string[] | undefined;
      if (certificate.ca || (usages !== undefined && !usages.includes(clientAuthUsage))) return false;
      const isSigned = (one: X509Certificate, authority: X509Certificate): boolean =>
        one.checkIssued(authority) && one.verify(authority.publicKey);
      if (current.some((authority) => isValidAt(authority, nowMs) && isSigned(certificate, authority))) return true;
      let signed = certificate;
      for (const [index, issuer] of chain.entries()) {
        if (!mayIssue(issuer, index, nowMs) || !isSigned(signed, issuer)) return false;
        const below = index + 1;
        if (current.some((authority) => mayIssue(authority, below, nowMs) && isSigned(issuer, authority))) return true;
        signed = issuer;
      }
      return false;
    },
  };
};

const isValidAt = ({ validFromDate, validToDate }: X509Certificate, nowMs: number): boolean =>
  validFromDate.getTime() <= nowMs && nowMs < validToDate.getTime();

const load = (path: string): readonly X509Certificate[] => {
  const pem = readAuthorities(path);
  if (typeof pem === 'string') throw new Error(`${path} ${pem}`);
  const texts = pem.toString('latin1').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return texts.map((text) => new X509Certificate(text));
};

const versionOf = (path: string): string => {
  const { mtimeMs, ino, size } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: 0, ino: 0, size: 0 };
  return `${mtimeMs} ${ino} ${size}`;
};
