// The video view needs the installed studio; here it only keeps its place among the views.

export const videoView = () => ({ opened() {}, status: () => "", state: () => ({}) });
