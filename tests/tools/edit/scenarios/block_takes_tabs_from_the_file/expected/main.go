func f() {
	if ok {
		run()
		stop()
	}
}
