/** RFC 8705 section 3: a token that is bound to a certificate is accepted from the holder of that certificate only. */
import type { IncomingMessage } from 'node:http';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { type ClientCertificates, isValidAt } from './client-certificate.ts';

/** `x5t`: thumbprint of the certificate that a valid token is bound to. Throws INVALID_AUTH. */
export type RequireCertificate = (req: IncomingMessage, x5t: string) => void;

type RequireCertificateDeps = {
  /** Undefined: the operator has certificates off, so bound tokens are not accepted. */
  certificates: ClientCertificates | undefined;
  clock: Clock;
};

export const createRequireCertificate = ({ certificates, clock }: RequireCertificateDeps): RequireCertificate => {
  return (req, x5t) => {
    const presented = certificates?.of(req);
    if (presented === undefined)
      throw new Fault('INVALID_AUTH', 'The access token is bound to a client certificate, and none was presented');
    if (presented.thumbprint !== x5t)
      throw new Fault('INVALID_AUTH', 'The access token is bound to another client certificate');
    if (!isValidAt(presented, clock.now().getTime()))
      throw new Fault('INVALID_AUTH', 'The client certificate that the access token is bound to has expired');
  };
};
