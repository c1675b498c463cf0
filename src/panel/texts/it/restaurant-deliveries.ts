/** Testi sulle consegne, i loro tentativi e lo stato degli endpoint. */
import type { Texts } from '../texts.ts';

export const deliveries: Texts['restaurant']['deliveries'] = {
  nav: 'Consegne',
  failures: {
    dns: 'Il nome dell’indirizzo non è stato trovato.',
    connect: 'Nessuna connessione: all’indirizzo non risponde nulla.',
    tls: 'La connessione sicura è fallita: controlla il certificato.',
    timeout: 'Nessuna risposta entro il tempo concesso a un tentativo.',
    reset: 'La connessione è stata interrotta prima che la risposta fosse completa.',
    status: 'La risposta non era un successo (2xx).',
    redirect: 'La risposta era un reindirizzamento, che non viene seguito.',
    target_refused: 'L’indirizzo non è pubblico, quindi non è stato inviato nulla.',
  },
  confirmed: 'Confermata',
  response: 'Che cosa ha risposto il ricevitore',
  noResponse: 'La risposta era vuota.',
  took: 'Durata',
  address: 'Indirizzo',
  status: 'Stato',
};
