/** The port of the pages about TLS certificates of clients (RFC 8705). */
export type CertificateFacts = { subject: string; thumbprint: string; expires: Date };

export type CertificatePorts = {
  /** Clients may prove themselves by certificates at all. */
  isOn: boolean;
  /** Facts of one certificate in PEM, which is not stored. Fault VALIDATION_ERROR: it is none, or has ended. */
  read(pem: string): CertificateFacts;
  /** Fault CONFLICT: the client has it already, or has 20. */
  add(actor: string, clientId: string, pem: string): Promise<CertificateFacts>;
  /** Ends every token that is bound to it, too. */
  remove(actor: string, clientId: string, thumbprint: string): Promise<void>;
};
