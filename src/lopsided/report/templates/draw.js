function drawPlots() {
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const draw = () => {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink").trim(), line = style.getPropertyValue("--line").trim(),
          card = style.getPropertyValue("--card").trim();
    document.querySelectorAll("[data-plot]").forEach(place => {
      const plot = plots[Number(place.dataset.plot)];
      const axis = { gridcolor: line, zerolinecolor: line, linecolor: line };
      const layout = { ...plot.layout, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
        font: { color: ink, family: "system-ui, sans-serif" },
        modebar: { bgcolor: "rgba(0,0,0,0)", color: line, activecolor: ink },
        annotations: (plot.layout.annotations || []).map(note => ({ ...note, bgcolor: card + "b3" })),
        xaxis: { ...plot.layout.xaxis, ...axis }, yaxis: { ...plot.layout.yaxis, ...axis } };
      Plotly.react(place, plot.data, layout, { responsive: true, displaylogo: false,
        modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
        displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false });
    });
  };
  draw();
  // a plot in a folded part is drawn without a width
  document.addEventListener("toggle", event => event.target.open
    && event.target.querySelectorAll("[data-plot]").forEach(place => Plotly.Plots.resize(place)), true);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
