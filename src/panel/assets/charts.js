// @ts-check

/* Charts of any page: their values by mouse and keyboard, and the table of their numbers. */
{
  /* With an element for each value that answers the mouse, or, for a small chart, in attributes of the chart. */
  /** @param {Element} chart @returns {{ at: string, number: string | null, area?: Element }[]} */
  const valuesOf = (chart) => {
    const numbers = chart.getAttribute('data-numbers');
    if (numbers === null)
      return [...chart.querySelectorAll('[data-at]')].map((area) => ({
        area,
        at: area.getAttribute('data-at') ?? '',
        number: area.getAttribute('data-number'),
      }));
    const from = Date.parse(chart.getAttribute('data-from') ?? '');
    const ms = Number(chart.getAttribute('data-seconds')) * 1000;
    return numbers.split(' ').map((number, index) => ({ at: new Date(from + index * ms).toISOString(), number }));
  };
  /* The values of a chart: the bar under the mouse, or the one that the arrow keys have reached. */
  /** @param {Element} chart */
  const openChart = (chart) => {
    const values = valuesOf(chart);
    const line = chart.querySelector('[data-chart-value]');
    let place = values.length - 1;
    /** @param {number} index */
    const show = (index) => {
      const value = values[index];
      if (value === undefined || line === null) return;
      place = index;
      for (const one of values) one.area?.classList.toggle('chosen', one === value);
      const at = document.createElement('time');
      at.setAttribute('datetime', value.at);
      at.setAttribute('data-style', chart.getAttribute('data-style') ?? '');
      line.replaceChildren(at, `: ${value.number}`);
      document.dispatchEvent(new CustomEvent('orderpass:shown', { detail: line }));
    };
    for (const [index, { area }] of values.entries()) {
      // The line below the chart has the value in the reader's zone.
      area?.querySelector('title')?.remove();
      area?.addEventListener('mouseenter', () => show(index));
    }
    if (chart.hasAttribute('data-numbers'))
      chart.querySelector('svg')?.addEventListener('mousemove', ({ currentTarget, clientX }) => {
        if (!(currentTarget instanceof Element)) return;
        const { left, width } = currentTarget.getBoundingClientRect();
        const index = Math.floor(((clientX - left) / width) * values.length);
        show(Math.min(values.length - 1, Math.max(0, index)));
      });
    chart.addEventListener('focus', () => show(place));
    chart.addEventListener('keydown', (event) => {
      if (!(event instanceof KeyboardEvent)) return;
      const goal = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: values.length - 1 }[event.key];
      if (goal === undefined) return;
      event.preventDefault();
      show(Math.min(values.length - 1, Math.max(0, goal)));
    });
  };
  /* Also those of a part of the page that was fetched again. */
  document.addEventListener('htmx:load', ({ target }) => {
    if (target instanceof Element) for (const chart of target.querySelectorAll('[data-chart]')) openChart(chart);
  });

  /* A part that is fetched again keeps its opened details. */
  const opened = new Set();
  document.addEventListener('htmx:beforeSwap', ({ target }) => {
    opened.clear();
    if (!(target instanceof Element)) return;
    for (const { id } of target.querySelectorAll('details[open][id]')) opened.add(id);
  });
  document.addEventListener('htmx:afterSwap', () => {
    for (const id of opened) document.getElementById(id)?.setAttribute('open', '');
  });
}
