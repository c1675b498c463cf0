/** Texts about deliveries, their attempts and the health of endpoints. */
export const deliveries = {
  nav: 'Deliveries',
  failures: {
    dns: 'The name of the address was not found.',
    connect: 'No connection: nothing answers at the address.',
    tls: 'The secure connection failed: check the certificate.',
    timeout: 'No answer within the time that an attempt may take.',
    reset: 'The connection was cut before the answer was complete.',
    status: 'The answer was no success (2xx).',
    redirect: 'The answer was a redirect; those are not followed.',
    target_refused: 'The address is not public, so nothing was sent.',
  },
  confirmed: 'Confirmed',
  response: 'What the receiver answered',
  noResponse: 'The answer was empty.',
  took: 'Took',
  address: 'Address',
  status: 'Status',
};
