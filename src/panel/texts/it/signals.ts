/** Texts of the page about streams of security events. */
import type { Texts } from '../en/en.ts';

export const signals: Texts['signals'] = {
  title: 'Segnali',
  intro:
    'I client possono ricevere le modifiche delle proprie credenziali come eventi firmati (Shared Signals). Ogni client ha un flusso, che configura da sé.',
  off: 'I segnali sono disattivati (ORDERPASS_SIGNALS): non viene inviato nulla.',
  none: 'Non ci sono flussi.',
  first: 'Inizio',
  next: 'Avanti',
  client: 'Client',
  receiver: 'Ricevitore',
  poll: 'preleva da sé i propri eventi',
  status: 'Stato',
  statuses: { enabled: 'attivo', paused: 'in pausa', disabled: 'disattivato' },
  waiting: 'In attesa',
  pushed: 'Ultimo invio',
  lastError: 'Ultimo errore',
  actions: 'Azioni',
  pause: 'Metti in pausa',
  pauseTitle: (client) => `Mettere in pausa il flusso di ${client}?`,
  pauseText:
    'Il ricevitore non riceve eventi finché tu o il client non riattivate il flusso: nel frattempo non viene a sapere che una credenziale non è più valida. Gli eventi attendono sette giorni, poi il flusso viene disattivato.',
  reason: 'Motivo',
  reasonHint: 'Il ricevitore lo legge.',
  reasonProblem: 'Indica un motivo di al massimo 200 caratteri.',
  paused: (client) => `Il flusso di ${client} è in pausa.`,
  resume: 'Riattiva',
  resumeTitle: (client) => `Riattivare il flusso di ${client}?`,
  resumeText: 'Gli eventi in attesa vengono inviati subito al ricevitore.',
  resumePoll: 'Il ricevitore può prelevare gli eventi in attesa.',
  resumeDisabled:
    'Il ricevitore riceve gli eventi da adesso in poi. Quelli del periodo in cui il flusso era disattivato sono persi.',
  resumed: (client) => `Il flusso di ${client} è attivo.`,
};
