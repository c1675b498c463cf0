// @ts-check

/* Charts of any page: their values by mouse and keyboard, and the table of their numbers. */
{
  /* The values of a chart: the bar under the mouse, or the one that the arrow keys have reached. */
  /** @param {Element} chart */
  const openChart = (chart) => {
    const values = [...chart.querySelectorAll('[data-at]')];
    const line = chart.querySelector('[data-chart-value]');
    let place = values.length - 1;
    /** @param {number} index */
    const show = (index) => {
      const value = values[index];
      if (value === undefined || line === null) return;
      place = index;
      for (const one of values) one.classList.toggle('chosen', one === value);
      const at = document.createElement('time');
      at.setAttribute('datetime', value.getAttribute('data-at') ?? '');
      line.replaceChildren(at, `: ${value.getAttribute('data-number')}`);
      document.dispatchEvent(new CustomEvent('orderpass:shown', { detail: line }));
    };
    for (const [index, value] of values.entries()) {
      // The line below the chart has the value in the reader's zone.
      value.querySelector('title')?.remove();
      value.addEventListener('mouseenter', () => show(index));
    }
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
